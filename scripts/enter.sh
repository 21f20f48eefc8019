#!/bin/sh
# Runs a command in a root that scripts/root.sh has made, in this checkout, which lies
# at the same path there: enter.sh ROOT COMMAND... What the root sees of this machine is
# mounted for the command alone; Open MPI is given the one network that is everywhere. Its Go is
# this machine's; what is built in bin, and Go's cache, are the root's own.
set -eu

root=$(cd "${1:?give the root}" && pwd)
shift
checkout=$(cd "$(dirname "$0")/.." && pwd)
export root checkout
export go="$(go env GOROOT)" modules="$(go env GOMODCACHE)"
exec unshare --mount --propagation private sh -euc '
	see() {
		mkdir -p "$2"
		mount $3 "$1" "$2"
	}
	for shared in proc sys dev; do
		see /$shared "$root/$shared" --rbind
	done
	for shared in "$go" "$modules" "$checkout"; do
		see "$shared" "$root$shared" --bind
	done
	mkdir -p "$root/var/lib/exanet"
	see "$root/var/lib/exanet" "$root$checkout/bin" --bind
	exec env -i HOME=/root LANG=C.UTF-8 PATH="$go/bin:/usr/sbin:/usr/bin:/sbin:/bin" GOMODCACHE="$modules" \
		GOFLAGS=-buildvcs=false GOTOOLCHAIN=local OMPI_MCA_btl_tcp_if_include=lo \
		chroot "$root" sh -c "cd \"\$0\" && exec \"\$@\"" "$checkout" "$@"
' sh "$@"
