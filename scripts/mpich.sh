#!/bin/sh
# Installs MPICH with its headers, and the packages whose programs run over this
# stack, if they are missing and this user may; else says in one line what to install.
set -eu

packages="mpich libmpich-dev gfortran scalapack-mpi-test netpipe-mpich2 libcoarrays-mpich-dev libhdf5-mpich-dev"

works() {
	for program in mpicc.mpich mpirun.mpich gfortran NPmpich2 h5pcc.mpich; do
		command -v $program >/dev/null || return 1
	done
	ls /usr/lib/*/scalapack/mpich-tests/xdbrd /usr/lib/*/open-coarrays/mpich/lib/libcaf_mpich.so >/dev/null 2>&1
}

works && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null
	works && exit 0
fi
echo "please install MPICH and the packages that are run over this stack (Debian: apt-get install $packages)" >&2
exit 1
