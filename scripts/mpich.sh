#!/bin/sh
# Installs MPICH with its headers, and ScaLAPACK's tests, if they are missing and this
# user may; else says in one line what to install.
set -eu

packages="mpich libmpich-dev gfortran scalapack-mpi-test"

works() {
	command -v mpicc.mpich >/dev/null && command -v mpirun.mpich >/dev/null &&
		command -v gfortran >/dev/null && ls /usr/lib/*/scalapack/mpich-tests/xdbrd >/dev/null 2>&1
}

works && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null
	works && exit 0
fi
echo "please install MPICH and ScaLAPACK's tests (Debian: apt-get install $packages)" >&2
exit 1
