#!/bin/sh
# Installs MPICH and Open MPI with their headers, if they are missing and this user
# may; else says in one line what to install.
set -eu

packages="mpich libmpich-dev openmpi-bin libopenmpi-dev gfortran"

works() {
	for program in mpicc.mpich mpirun.mpich mpicc.openmpi mpirun.openmpi gfortran; do
		command -v $program >/dev/null || return 1
	done
	printf '#include <mpi.h>\nint main(void){return MPI_SUCCESS;}\n' >"$scratch/x.c"
	mpicc.mpich -o "$scratch/x" "$scratch/x.c" 2>/dev/null && mpicc.openmpi -o "$scratch/x" "$scratch/x.c" 2>/dev/null
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
works && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null
	works && exit 0
fi
echo "please install the MPIs whose programs run over this stack (Debian: apt-get install $packages)" >&2
exit 1
