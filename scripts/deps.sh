#!/bin/sh
# Installs the named Debian packages that are missing, if this user may; else
# says in one line what to install. Does nothing where they are not needed: a
# C compiler that works is enough, whoever installed it.
set -eu

works() {
	printf 'int main(void){return 0;}\n' | ${CC:-cc} -x c -o /dev/null - 2>/dev/null
}

works && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
	works && exit 0
fi
echo "please install a C compiler for the race detector (Debian: apt-get install $*)" >&2
exit 1
