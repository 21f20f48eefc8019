#!/bin/sh
# Installs the packages whose programs run over this stack in test-real, if they are
# missing and this user may; else says in one line what to install.
set -eu

packages="scalapack-mpi-test netpipe-mpich2 libcoarrays-mpich-dev libhdf5-mpich-dev netpipe-openmpi lammps lammps-data hpcc python3-mpi4py gdb"

works() {
	for program in NPmpich2 h5pcc.mpich NPopenmpi lmp hpcc gdb; do
		command -v $program >/dev/null || return 1
	done
	ls /usr/lib/*/scalapack/mpich-tests/xdbrd /usr/lib/*/open-coarrays/mpich/lib/libcaf_mpich.so \
		/usr/share/lammps/potentials/Cu_u3.eam /usr/lib/python3/dist-packages/mpi4py/__init__.py >/dev/null 2>&1
}

works && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null
	works && exit 0
fi
echo "please install the packages that are run over this stack (Debian: apt-get install $packages)" >&2
exit 1
