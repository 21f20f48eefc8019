# The targets that people and CI use. `make test` is the one that must pass.

GO ?= go
# Everything that -race can take; real processes share memory that the detector
# cannot see, so their tests run without it in `test-fast`.
RACE_FLAGS ?= -race -short

.PHONY: all build preload test test-fast test-race test-tags test-real vet deps bench clean

all: build

build:
	$(GO) build -o bin/exanet ./cmd/exanet

test: deps vet test-fast test-race test-tags

test-fast:
	$(GO) test -timeout 20m $$($(GO) list ./... | grep -v /internal/randprog)
	$(GO) test -timeout 20m -v ./internal/randprog # -v shows how often each event of the protocols occurred

test-race:
	CGO_ENABLED=1 $(GO) test -timeout 20m $(RACE_FLAGS) ./...

# Builds with one protocol and device pinned (docs/performance.md).
test-tags:
	set -e; for tag in readbased rtr envless ticket optimistic; do \
		$(GO) vet -tags $$tag,hostfabric ./mpi ./cmd/exanet; \
		$(GO) test -short -timeout 5m -tags $$tag,hostfabric ./mpi; \
	done
	$(GO) build -tags rtr,ticket ./variants 2>&1 | grep -q give_only_one_of

vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'ed: $$unformatted"; exit 1; fi
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...

# The preload library (docs/preload.md): the part that is preloaded, and the part in
# Go that it loads. The headers and the library are those of the MPI that programs
# were built with.
MPICH_INCLUDE ?= /usr/include/$(shell $(CC) -print-multiarch)/mpich
MPICH_FLAGS = -O2 -Wall -I$(MPICH_INCLUDE)
PRELOAD = cmd/libexanet

# The Go runtime as a guest: no heap where sanitizers have their shadow memory, no
# signals to preempt goroutines.
GOGUEST = GOEXPERIMENT=norandomizedheapbase64
GUESTFLAGS = -X runtime.godebugDefault=asyncpreemptoff=1

preload:
	mkdir -p bin
	$(GO) run ./$(PRELOAD)/generate $(PRELOAD)/functions.txt >bin/entries.c
	$(CC) $(MPICH_FLAGS) -Wextra -fexceptions -fPIC -shared -I$(PRELOAD)/entry \
		-DEXANET_HOST_LIBRARY='"libmpich.so.12"' -DEXANET_GO_PART='"libexanet-mpich-go.so"' \
		-o bin/libexanet-mpich.so $(PRELOAD)/entry/*.c bin/entries.c -ldl
	CGO_ENABLED=1 CGO_CFLAGS="$(MPICH_FLAGS)" CGO_LDFLAGS=-lmpich $(GOGUEST) \
		$(GO) build -ldflags "$(GUESTFLAGS)" -tags mpich -buildmode=c-shared -o bin/libexanet-mpich-go.so ./$(PRELOAD)
	rm -f bin/libexanet-mpich-go.h

# Programs under the host MPI alone and with the library preloaded.
test-real:
	scripts/mpich.sh
	$(MAKE) preload
	CGO_ENABLED=1 CGO_CFLAGS="$(MPICH_FLAGS)" $(GO) vet -tags mpich ./$(PRELOAD)/...
	$(GO) test -count 1 -timeout 20m -tags real ./$(PRELOAD)

# What the tests need beyond Go: a C compiler, for the race detector.
deps:
	@scripts/deps.sh gcc libc6-dev

bench: build
	bin/exanet bench floor --with latency,bw
	bin/exanet bench barrier -n 16
	bin/exanet bench idle

clean:
	rm -rf bin
