# The targets that people and CI use. `make test` is the one that must pass.

GO ?= go
# Everything that -race can take; real processes share memory that the detector
# cannot see, so their tests run without it in `test-fast`.
RACE_FLAGS ?= -race -short

.PHONY: all build test test-fast test-race test-tags vet deps bench clean

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

# What the tests need beyond Go: a C compiler, for the race detector.
deps:
	@scripts/deps.sh gcc libc6-dev

bench: build
	bin/exanet bench floor --with latency,bw
	bin/exanet bench barrier -n 16
	bin/exanet bench idle

clean:
	rm -rf bin
