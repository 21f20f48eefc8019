#!/bin/sh
# Fills a folder with a suite of Debian other than this machine's, as a system that
# chroot can enter: the compilers, MPICH and Open MPI, and of the programs that test-real
# runs over them those that the suite has. Nothing of it is installed here: mmdebstrap
# works on apt lists of its own and checks signatures with Debian's keys, but not how old they
# are: the mirror, that of this machine's apt, may be a copy of some day. A folder that is filled
# is taken as it is: remove it to have newer packages. PROGRAMS are others than those of test-real,
# or none. The newest suite changes from day to day: what it has no more, or in other versions than
# those of docs/host-mpis.md, is said, and what to do.
#
# mmdebstrap is installed if it is missing and this user may.
set -eu

suite=${1:?give a suite and the folder}
root=${2:?give the folder}
needed="gcc g++ gfortran make libc6-dev libmpich-dev mpich libopenmpi-dev openmpi-bin"
programs=${PROGRAMS-$(sed -n 's/^packages="\(.*\)"$/\1/p' "$(dirname "$0")/packages.sh")}

fail() {
	echo "$1" >&2
	exit 1
}

# The versions that the root has, and whether they are those that the page tells of.
tell_versions() {
	version() {
		dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Version}' "$1" | sed 's/^.*+really//; s/^[0-9]*://; s/[-+].*//; s/~//'
	}
	versions="MPICH $(version mpich), Open MPI $(version openmpi-bin)"
	echo "the root of $suite has $versions" >&2
	grep -q "| $versions |" "$(dirname "$0")/../docs/host-mpis.md" ||
		echo "docs/host-mpis.md tells of other versions: see whether what fails does so without the library, too," \
			"and write these into its table when all is right" >&2
}

keys=/usr/share/keyrings/debian-archive-keyring.gpg
filled=.packages
[ "$(cat "$root/$filled" 2>/dev/null)" = "$needed $programs" ] && tell_versions && exit 0
[ "$(id -u)" = 0 ] || fail "only root can make and enter a root of $suite"
command -v apt-get >/dev/null || fail "there are no packages of Debian without apt-get"
if ! command -v mmdebstrap >/dev/null; then
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq mmdebstrap debian-archive-keyring >/dev/null ||
		fail "please install mmdebstrap"
fi
mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(SUITE) $(REPO_URI)' 'Created-By: Packages' |
	sed -n '/security\|updates/d; s/^Debian main [^ ]* //p' | head -1)
[ -n "$mirror" ] || fail "apt of this machine has no mirror of Debian"

# What of the programs the suite has, and can be installed, say apt lists of its own. Nothing
# but mmdebstrap, in its folder, installs anything: apt is only asked.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/state/lists/partial" "$scratch/cache/archives/partial"
: >"$scratch/status"
echo "deb [signed-by=$keys] $mirror $suite main" >"$scratch/sources.list"
cat >"$scratch/conf" <<END
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Acquire::Check-Valid-Until "false";
Dir::Etc::SourceList "$scratch/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State "$scratch/state";
Dir::State::status "$scratch/status";
Dir::Cache "$scratch/cache";
END
export APT_CONFIG="$scratch/conf"
apt-get update -qq --error-on=any >&2 || fail "there is no $suite at this machine's mirror, or no key for it"
possible() { apt-get install -s $* >/dev/null 2>&1; }
if ! possible $needed; then
	gone=
	for package in $needed; do
		possible $package || gone="$gone $package"
	done
	fail "$suite cannot install${gone:- all of $needed together} today: wait some days, or leave it out (make test-today\
 SUITES=trixie); if a package has another name for good, write that into scripts/root.sh"
fi
has=$programs
if ! possible $needed $has; then
	has=
	for package in $programs; do
		possible $needed $has $package && has="$has $package" ||
			echo "$suite cannot install $package today: its tests are left out" >&2
	done
fi
unset APT_CONFIG

# In another folder, until it is complete. What is mounted there is so for mmdebstrap alone, and gone when it is killed.
rm -rf "$root.new"
mkdir -p "$(dirname "$root")"
export DEBIAN_FRONTEND=noninteractive
unshare --mount --propagation private mmdebstrap --quiet --mode=root --variant=essential --include="$needed $has" \
	--keyring="$keys" --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	"$suite" "$root.new" "$mirror" ||
	fail "no root of $suite is to be had from this machine's mirror: if a package was replaced meanwhile, run it again"
echo "$needed $programs" >"$root.new/$filled"
rm -rf "$root"
mv "$root.new" "$root"
tell_versions
