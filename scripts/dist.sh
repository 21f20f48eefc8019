#!/bin/sh
# Packs what people need who build nothing (docs/ci.md): dist.sh OUT ARCH BIN makes OUT/exanet-VERSION-linux-ARCH.tar.gz
# of exanet, built for ARCH here, and the preload libraries in BIN beside it. The same checkout gives the same file.
set -eu
out=$1 arch=$2 bin=$3
cd "$(dirname "$0")/.."
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo devel)}
when=$(git log -1 --format=%ct 2>/dev/null || echo 0)
name=exanet-$version-linux-$arch
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
to=$scratch/$name
mkdir -p "$out" "$to"

GOOS=linux GOARCH=$arch CGO_ENABLED=0 ${GO:-go} build -trimpath -ldflags "-X main.release=$version" \
	-o "$to/exanet" ./cmd/exanet
cp LICENSE README.md docs/ci.md docs/preload.md "$to"
for mpi in mpich openmpi abi; do
	cp "$bin/libexanet-$mpi.so" "$bin/libexanet-$mpi-go.so" "$to" 2>/dev/null || [ $mpi = abi ] ||
		echo "not packed for $arch: the library for $mpi, which is not in $bin"
done
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go-w --mtime="@$when" -cf - "$name" |
	gzip -n >"$out/$name.tar.gz"
echo "$out/$name.tar.gz"
