#!/bin/sh
# Installs MPICH with its headers, if it is missing and this user may; else says in
# one line what to install.
set -eu

works() { command -v mpicc.mpich >/dev/null && command -v mpirun.mpich >/dev/null; }

works && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq mpich libmpich-dev >/dev/null
	works && exit 0
fi
echo "please install MPICH (Debian: apt-get install mpich libmpich-dev)" >&2
exit 1
