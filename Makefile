# The targets that people and CI use. `make test` is the one that must pass.

GO ?= go
# Everything that -race can take; real processes share memory that the detector
# cannot see, so their tests run without it in `test-fast`.
RACE_FLAGS ?= -race -short
# .ci/run gives -short: fewer kills, and 2 and 4 ranks where it would be 2, 3 and 4.
REAL_FLAGS ?=
# What has no goroutines, but for the explorer's, which tests of cmd/exanet run.
SERIAL = coll|check/(chart|scenario|world|explore)|datatype|group|topo|optimistic|launch/preload|variants(/.*)?
SERIAL := $(SERIAL)|internal/ldso|test/(elftest|interleave(/.*)?|randtype)

.PHONY: all build preload dist vet deps bench bench-hosts bench-today bench-programs clean
.PHONY: test test-fast test-most test-random test-interleave test-race test-tags test-portable
.PHONY: test-real test-today test-arm64 test-guests

all: build

build:
	$(GO) build -o bin/exanet ./cmd/exanet

test: deps vet test-fast test-interleave test-race test-tags test-portable

# Many tests wait more than they compute: packages beside each other fill the gaps.
test-fast:
	$(MAKE) -j2 --output-sync=target test-most test-random

test-most:
	$(GO) test -timeout 60m -p 4 $$($(GO) list ./... | grep -v /test/randprog)

test-random: # -v shows how often each event of the protocols occurred
	$(GO) test -timeout 60m -v ./test/randprog

# Every interleaving of what ranks do in shared memory (docs/exploring.md).
INTERLEAVED = ./emu/host ./coll/shm ./test/interleave/native
REWRITTEN = ./emu/host ./coll/shm ./internal/mem ./fastpath
test-interleave:
	$(GO) run ./test/interleave/rewrite -o bin/_interleave $(REWRITTEN)
	$(GO) test -timeout 10m -overlay bin/_interleave/overlay.json -tags interleave -run '^TestEvery' $(INTERLEAVED)

test-race:
	CGO_ENABLED=1 $(GO) test -timeout 60m -p 4 $(RACE_FLAGS) $$($(GO) list ./... | grep -vE '/exanet/($(SERIAL))$$')

# Builds with one protocol.
test-tags:
	set -e; for tag in $(VARIANTS); do \
		$(GO) vet -tags $$tag ./mpi ./cmd/exanet; \
		$(GO) test -short -timeout 5m -tags $$tag ./mpi; \
	done
	$(GO) build -tags rtr,ticket ./variants 2>&1 | grep -q give_only_one_of

# What needs no memory that processes share, as other systems have it (internal/sys), and what is said elsewhere.
test-portable:
	$(GO) test -short -timeout 5m -tags portable -run Portable ./internal/sys ./cmd/exanet
	$(GO) test -short -timeout 5m -tags portable -run 'Example|Run' ./mpi
	GOARCH=riscv64 $(GO) build ./internal/mem ./internal/sys
	GOARCH=386 $(GO) build ./internal/platform 2>&1 | grep -q needs_linux

vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) build ./mpi ./launch ./bench/floor ./cmd/exanet
	scripts/columns.sh

# The preload library (docs/preload.md), for each MPI whose headers are installed: the
# part that is preloaded, and the part in Go that it loads. With ARCH=arm64 they are
# built for that architecture, in bin/arm64, out of a folder with its packages. With
# VARIANT=rtr, say, they have that protocol only.
PRELOAD = cmd/libexanet
BIN = bin
ARM64_ROOT ?= bin/arm64/_root
MULTIARCH := $(shell $(CC) -print-multiarch)
LIBRARIES = $(ROOT)/usr/lib/$(MULTIARCH)
MPICH_INCLUDE ?= $(ROOT)/usr/include/$(MULTIARCH)/mpich
OPENMPI_INCLUDE ?= $(LIBRARIES)/openmpi/include
# The standard ABI (docs/host-mpis.md) has nothing for Fortran, and one header: Open MPI 6's is nearer to the
# standard than MPICH 5's, which has other counts in MPI_Psend_init.
ABI_INCLUDE ?= $(firstword $(wildcard $(LIBRARIES)/openmpi/include/standard_abi $(LIBRARIES)/mpi_abi_mpich/include))
mpich_include = $(MPICH_INCLUDE)
openmpi_include = $(OPENMPI_INCLUDE)
abi_include = $(ABI_INCLUDE)
mpich_library = libmpich.so.12
openmpi_library = libmpi.so.40
abi_library = libmpi_abi.so.1
mpich_link = -L$(LIBRARIES) -lmpich
openmpi_link = -L$(LIBRARIES)/openmpi/lib -lmpi
abi_link = -L$(LIBRARIES) -lmpi_abi
mpich_package = libmpich-dev
openmpi_package = libopenmpi-dev
HOSTS := $(foreach h,mpich openmpi abi,$(if $(wildcard $($(h)_include)/mpi.h),$(h)))
NO_HOSTS := $(filter-out $(HOSTS),mpich openmpi)
C_FILES = $(filter-out $(if $(filter abi,$*),%/fortran.c),$(wildcard $(PRELOAD)/c/*.c))
# Names that newer versions of a host deprecate are those that all have.
host_flags = -O2 -Wall -Wno-deprecated-declarations -I$($*_include)
# The C files of the library as one, where the compiler can do that: a short message goes through
# functions of several.
WHOLE = $(shell echo 'int x;' | $(CC) -flto=auto -nostdlib -shared -fPIC -x c -o /dev/null - 2>/dev/null && echo -flto=auto)
# The Go runtime as a guest: no heap where sanitizers have their shadow memory, no
# signals to preempt goroutines, no alarm at what programs pass as addresses with a
# count of 0.
GOGUEST = GOEXPERIMENT=norandomizedheapbase64
GUESTFLAGS = -checklinkname=0 -X runtime.godebugDefault=asyncpreemptoff=1,invalidptr=0
host_go = CGO_ENABLED=1 CC="$(CC)" GOARCH=$(TARGET) CGO_CFLAGS="$(host_flags)" CGO_LDFLAGS="$($*_link)" $(GOGUEST) $(GO)

VARIANTS = readbased rtr envless ticket optimistic customized standing

ifneq ($(filter-out $(VARIANTS),$(VARIANT)),)
$(error VARIANT=$(VARIANT) is no protocol: give one of $(VARIANTS), or leave it out for all)
endif
ifneq ($(filter-out arm64,$(ARCH)),)
$(error ARCH=$(ARCH) is not to be had: give arm64, or leave it out)
else ifeq ($(ARCH),arm64)
preload:
	scripts/arm64.sh $(ARM64_ROOT)
	$(MAKE) preload ARCH= TARGET=arm64 CC=aarch64-linux-gnu-gcc BIN=bin/arm64 ROOT=$(abspath $(ARM64_ROOT))
else
preload: $(HOSTS:%=preload-%)
	@$(foreach h,$(NO_HOSTS),echo "not built: $(BIN)/libexanet-$(h).so, for want of $($(h)_include)/mpi.h (Debian: $($(h)_package))";)
	@$(if $(HOSTS),,echo "there are no headers of an MPI: make deps installs them"; exit 1)
endif

# Jobs that run have the old files mapped: new ones take their names when both are there.
preload-%:
	mkdir -p $(BIN)
	$(CC) $(host_flags) -E -include mpi.h -x c /dev/null >$(BIN)/mpi-$*.i
	$(GO) run ./$(PRELOAD)/generate $(PRELOAD)/functions.txt $(BIN)/mpi-$*.i >$(BIN)/entries-$*.c
	$(CC) $(host_flags) -D_GNU_SOURCE -Wextra -fexceptions -fPIC -shared -Wl,-z,defs -I$(PRELOAD)/c \
		-DEXANET_HOST='"$*"' -DEXANET_HOST_LIBRARY='"$($*_library)"' \
		$(WHOLE) -Wl,--version-script=$(PRELOAD)/c/exports.map \
		-o $(BIN)/new-libexanet-$*.so $(C_FILES) $(BIN)/entries-$*.c -ldl
	$(host_go) build -ldflags "$(GUESTFLAGS)" -tags $*$(VARIANT:%=,%) -buildmode=c-shared \
		-o $(BIN)/new-libexanet-$*-go.so ./$(PRELOAD)
	mv -f $(BIN)/new-libexanet-$*-go.so $(BIN)/libexanet-$*-go.so
	mv -f $(BIN)/new-libexanet-$*.so $(BIN)/libexanet-$*.so
	rm -f $(BIN)/new-libexanet-$*-go.h

preload-vet-%:
	$(host_go) vet -tags $* ./$(PRELOAD)/...

# Programs under the host MPI alone and with the library preloaded.
test-real:
	scripts/mpi.sh
	scripts/packages.sh
	$(MAKE) preload $(HOSTS:%=preload-vet-%)
	if scripts/arm64.sh $(ARM64_ROOT); then $(MAKE) preload ARCH=arm64; else rm -f bin/arm64/*.so; fi
	ARM64_ROOT=$(abspath $(ARM64_ROOT)) $(GO) test -count 1 -timeout 20m $(REAL_FLAGS) -tags real ./$(PRELOAD) ./test/ci

# The same under the MPIs of newer versions of Debian, each in a root of its own, as far as it
# has the programs (docs/host-mpis.md); then the quicker ones with the libraries that are
# built on this machine. TODAY_RUN and OLDER_RUN say which.
SUITES ?= trixie sid
TODAY_RUN ?= .
OLDER_RUN ?= TestProgramsSeeTheSame|TestProgress$$|TestFortran$$/.*/p2p|TestHPCC|TestNetPIPE
TODAY = bin/_today
TODAY_TEST = go test -count 1 -timeout 60m -tags real

test-today: $(SUITES:%=test-today-%)

test-today-%: preload
	scripts/root.sh $* $(TODAY)/$*
	scripts/enter.sh $(TODAY)/$* $(MAKE) preload
	scripts/enter.sh $(TODAY)/$* $(TODAY_TEST) $(REAL_FLAGS) -run '$(TODAY_RUN)' -skip ARM64 ./$(PRELOAD)
	mkdir -p $(TODAY)/$*/var/lib/exanet/older
	cp $(BIN)/libexanet-*.so $(TODAY)/$*/var/lib/exanet/older
	scripts/enter.sh $(TODAY)/$* $(TODAY_TEST) -short -run '$(OLDER_RUN)' ./$(PRELOAD) -libraries ../../bin/older

# What is quick of the tests in Go, built for ARM64, and a job of real processes, which
# the launcher of this machine starts (docs/testing.md).
QEMU = qemu-aarch64
ARM64_GO = GOARCH=arm64 CGO_ENABLED=0 $(GO)
ARM64_PACKAGES = ./datatype ./internal/mem ./emu/host ./packetizer ./mbox ./internal/mmio ./check/scenario ./check/world ./mpi
# Slow there, or start themselves again, which qemu does not do.
ARM64_SKIP = Stopped|Columns|InReverse|LeaveNothingBehind|MatchInOrder|MoreThanTheCredit|ShareMessages|Vigil

test-arm64: build
	@command -v $(QEMU) >/dev/null || { echo "please install qemu's user mode (Debian: apt-get install qemu-user)"; exit 1; }
	$(ARM64_GO) test -short -timeout 10m -exec $(QEMU) -skip '$(ARM64_SKIP)' $(ARM64_PACKAGES)
	$(ARM64_GO) build -o bin/arm64/cg ./examples/cg
	set -e; for variant in $(VARIANTS); do \
		bin/exanet run -n 3 --variant $$variant $(QEMU) bin/arm64/cg -grid 24 -iterations 20; \
	done

# Two machines under QEMU as nodes of the software device (docs/guests.md). The C program under MPICH needs what
# "make preload ARCH=arm64" makes, and is left out without.
GUESTS_KERNEL ?= bin/guests/kernel
GUESTS_RUN ?= .

test-guests:
	scripts/guests.sh $(GUESTS_KERNEL)
	$(GO) vet -tags guests ./launch/guests
	GUESTS_KERNEL=$(abspath $(GUESTS_KERNEL)) ARM64_ROOT=$(abspath $(ARM64_ROOT)) ARM64_LIBRARIES=$(abspath bin/arm64) \
		$(GO) test -count 1 -timeout 40m $(REAL_FLAGS) -tags guests -run '$(GUESTS_RUN)' -v ./launch/guests

# What people need who build nothing (docs/ci.md): exanet with the preload libraries, for this architecture, and for
# arm64 where its packages can be had.
DIST = bin/dist
NATIVE := $(shell $(GO) env GOARCH)

dist: preload
	rm -rf $(DIST)
	scripts/dist.sh $(DIST) $(NATIVE) bin
ifeq ($(NATIVE),amd64)
	if scripts/arm64.sh $(ARM64_ROOT) && $(MAKE) preload ARCH=arm64; then scripts/dist.sh $(DIST) arm64 bin/arm64; \
		else echo "left out: arm64, which needs what is said above"; fi
else
	@echo "left out: amd64, which is packed on such a machine"
endif
	cd $(DIST) && sha256sum *.tar.gz >SHA256SUMS

# What the tests need beyond Go: a C compiler, for the race detector; and the MPIs,
# without which there is no preload library, but everything else.
deps:
	@scripts/deps.sh gcc libc6-dev
	@scripts/mpi.sh || true

# The benchmarks in C (bench/osu), for each MPI that has a compiler.
OSU_SOURCES = $(wildcard bench/osu/*.c)

bench-programs: $(foreach h,mpich openmpi,$(if $(shell command -v mpicc.$(h)),$(BIN)/osu-$(h) $(BIN)/kernels-$(h)))
	@test -n "$^" || { echo "there is no MPI with a compiler: make deps installs them"; exit 1; }
	$(GO) build -o $(BIN)/cg ./examples/cg

# MPICH's MPI_STATUSES_IGNORE is no address, which some compilers warn about.
$(BIN)/osu-%: $(OSU_SOURCES) bench/osu/osu.h
	mkdir -p $(BIN)
	mpicc.$* -std=gnu11 -O2 -Wall -Wextra -Wno-stringop-overflow -o $@ $(OSU_SOURCES)

$(BIN)/kernels-%: $(PRELOAD)/testdata/kernels.c
	mkdir -p $(BIN)
	mpicc.$* -std=gnu11 -O2 -w -o $@ $<

# Compares with the MPIs that are installed and writes docs/performance.md: half an hour.
# BENCH="--quick --out /tmp/performance" takes some minutes and writes elsewhere;
# --baseline DIR compares with the bin of another build as well.
BENCH ?= --out docs/performance --results bench/results/report.jsonl

bench: build preload bench-programs
	bin/exanet bench report $(BENCH)

# The same between three hosts, which are namespaces of this machine (as root), for docs/performance-hosts.md.
# CONGESTION=cubic gives them that congestion control, which the machine must allow.
BENCH_HOSTS ?= --out docs/performance-hosts --results bench/results/hosts.jsonl

bench-hosts: build preload bench-programs
	scripts/hosts.sh $(CONGESTION:%=--congestion %) bin/exanet bench report --hosts host0,host1,host2 $(BENCH_HOSTS)

# The short form under the MPIs of newer Debians, as test-today has them, and docs/performance-newer.md.
bench-today: $(SUITES:%=bench-today-%)
	bin/exanet bench report $(BENCH) --render $(SUITES:%=--with bench/results/%.jsonl)

bench-today-%: build
	scripts/root.sh $* $(TODAY)/$*
	scripts/enter.sh $(TODAY)/$* $(MAKE) build preload bench-programs
	scripts/enter.sh $(TODAY)/$* bin/exanet bench report --rounds 5 --only latency,bandwidth,crowd --out bin/report
	sed "1s/\"commit\":\"unknown\"/\"commit\":\"$$(git rev-parse --short=12 HEAD)\"/" \
		$(TODAY)/$*/var/lib/exanet/report.jsonl >bench/results/$*.jsonl # a root has no git

clean:
	rm -rf bin
