#!/bin/sh
# Fills a folder with what programs for ARM64 are built and run with on another
# machine: MPICH and Open MPI, programs that use them, and all that these need, out of
# this distribution's packages for arm64. It is the root for the cross-compiler and for
# "qemu-aarch64 -L". Nothing of it is installed: apt works on lists of its own, and dpkg
# of this system never hears of another architecture. A folder that somebody else has
# filled is taken as it is.
#
# The cross-compiler and qemu are installed if they are missing and this user may; else
# one line says what to install.
set -eu

root=${1:?give the folder}
tools="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
packages="libmpich-dev libopenmpi-dev scalapack-mpi-test"
# What serves to build or to install alone.
needless='adduser|auto.*|binutils.*|coreutils|cpp.*|debconf.*|debianutils|dpkg|g\+\+.*|gcc|gcc-[0-9].*|gfortran.*
|lib[a-z]*san[0-9]|libbinutils|libc6-dev|libc-dev-bin|libgcc-[0-9].*|libgfortran-.*|libgprofng.*|libjs-.*|libpam.*|libperl.*
|libstdc\+\+-.*|libtool|linux-libc-dev|login|m4|mpi-default-bin|openssh-.*|passwd|perl.*|python3.*|sensible-utils|tar|ucf'
needless="^($(echo "$needless" | tr -d '\n'))\$"

. "$(dirname "$0")/arm64-apt.sh"

works() {
	command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null &&
		printf '#include <stdlib.h>\nint main(void){return 0;}\n' | aarch64-linux-gnu-gcc -x c -o /dev/null - 2>/dev/null
}

if ! works; then
	debian && [ "$(id -u)" = 0 ] || fail "please install a compiler for ARM64 and qemu-aarch64 (Debian: apt-get install $tools)"
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $tools >/dev/null
	works || fail "the compiler for ARM64 does not work (Debian: apt-get install $tools)"
fi

filled=.packages
if [ -d "$root" ] && { [ ! -e "$root/$filled" ] || [ "$(cat "$root/$filled")" = "$packages" ]; }; then
	exit 0
fi
debian || fail "there are no packages for arm64 without apt-get and dpkg-deb: give ARM64_ROOT, a folder that has $packages"

# In another folder, until it is complete.
complete=$root
root=$root.new
rm -rf "$root"
mkdir -p "$root"
root=$(cd "$root" && pwd)
lists "$root/.apt"
wanted=$(closure $packages)
wanted=$(echo "$wanted" | grep -Ev "$needless")
fetch $wanted
for deb in "$root"/.apt/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" -x --exclude='*.a' --exclude='./etc/*' \
		--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*'
done
rm -rf "$root/.apt"

# Absolute links would lead out of the root.
find "$root" -type l -lname '/*' | while read -r link; do
	ln -sfnr "$root$(readlink "$link")" "$link"
done
echo "$packages" >"$root/$filled"
rm -rf "$complete"
mv "$root" "$complete"
