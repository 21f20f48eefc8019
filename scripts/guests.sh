#!/bin/sh
# Fills a folder with what guests of the model are booted with: vmlinuz, a kernel for ARM64,
# and modules/, those that its network needs, out of this distribution's packages for arm64.
# The kernel is not installed. A folder that somebody else has filled is taken as it is.
#
# QEMU is installed if it is missing and this user may; else one line says what to install.
set -eu

folder=${1:?give the folder}
kernel=linux-image-cloud-arm64
qemu=qemu-system-arm
. "$(dirname "$0")/arm64-apt.sh"

works() { command -v qemu-system-aarch64 >/dev/null; }

if ! works; then
	debian && [ "$(id -u)" = 0 ] || fail "please install QEMU for ARM64 (Debian: apt-get install $qemu)"
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $qemu >/dev/null ||
		fail "QEMU for ARM64 cannot be installed (Debian: apt-get install $qemu)"
fi

[ -e "$folder/vmlinuz" ] && exit 0
debian || fail "there is no kernel for arm64 without apt-get and dpkg-deb: fill $folder with vmlinuz and modules/, as $0 does"

# In another folder, until it is complete.
new=$folder.new
rm -rf "$new"
mkdir -p "$new/modules"
new=$(cd "$new" && pwd)
lists "$new/apt"
image=$(closure $kernel)
image=$(echo "$image" | grep '^linux-image-[0-9]') || fail "$kernel names no kernel"
echo "fetching $image" >&2
fetch $image
mkdir "$new/root"
dpkg-deb --fsys-tarfile "$new"/apt/*.deb | tar -C "$new/root" -x --wildcards './boot/vmlinuz-*' '*/virtio*' '*failover.ko*'
mv "$new"/root/boot/vmlinuz-* "$new/vmlinuz"
for module in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci failover net_failover virtio_net; do
	file=$(find "$new/root" -name "$module.ko*") # nothing, if it is a part of this kernel
	case $file in
	*.xz) xz -d "$file" && file=${file%.xz} ;;
	esac
	[ -z "$file" ] || mv "$file" "$new/modules"
done
rm -rf "$new/apt" "$new/root" "$folder"
mv "$new" "$folder"
