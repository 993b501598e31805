#!/usr/bin/env bash
# Usage: package.sh
#
# Builds the Debian packages twice, which must give the same bytes, installs that of
# this machine in a clean root of Debian's, made by debootstrap and kept in
# .build/package, and there records, converts, reads a man page, and has bash
# complete a command. As root.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/.build/package
base=$dir/base.tar
mkdir -p "$dir"
export DEBIAN_FRONTEND=noninteractive
command -v debootstrap >/dev/null || apt-get install -q -y --no-install-recommends debootstrap ||
	{ apt-get update -q && apt-get install -q -y --no-install-recommends debootstrap; }

rm -f .build/kprof_*_*.deb
make deb
arch=$(dpkg --print-architecture)
# The same commit in another directory.
rm -rf "$dir/again"
mkdir "$dir/again"
{ git ls-files -z && git ls-files -z --others --exclude-standard; } | xargs -0 cp --parents -t "$dir/again"
cp -r "$(git rev-parse --git-common-dir)" "$dir/again/.git"
make -C "$dir/again" deb >/dev/null
for deb in .build/kprof_*_*.deb; do
	cmp "$deb" "$dir/again/$deb" || { echo "the packages of two builds differ"; exit 1; }
done
rm -rf "$dir/again"

if [ ! -e "$base" ]; then
	rm -rf "$dir/base"
	if ! debootstrap --variant=minbase --include=man-db,bash-completion bookworm "$dir/base"; then
		echo "the packages were built, but no clean root can be had to install one in"
		exit 0
	fi
	tar -C "$dir/base" -cf "$base.part" .
	mv "$base.part" "$base"
	rm -rf "$dir/base"
fi
root=$(mktemp -d "$dir/root.XXXXXX")
mounted=()
cleanup() {
	for m in "${mounted[@]}"; do umount "$m" || umount -l "$m"; done
	rm -rf --one-file-system "$root"
}
trap cleanup EXIT
tar -C "$root" -xf "$base"
for fs in proc sysfs; do
	at=$root/${fs/sysfs/sys}
	mount -t $fs $fs "$at"
	mounted=("$at" "${mounted[@]}")
done
cp .build/kprof_*_"$arch".deb "$root/tmp/kprof.deb"
chroot "$root" dpkg -i /tmp/kprof.deb
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 bash -euc "$1"; }
inside 'kprof --version | grep "^kprof "'
inside 'cd /tmp && kprof record -q -e page-faults -c 1 -- ls / && kprof convert -f folded | grep -q "^ls;" && kprof record -q -a -d 1s -o cpu.pb.gz && kprof report -n 3 cpu.pb.gz'
# The unit is there and off.
[ -e "$root/usr/lib/systemd/system/kprof.service" ] && [ -z "$(find "$root/etc/systemd" -name 'kprof.service' 2>/dev/null)" ]
inside 'man kprof-record | grep -q "kprof record" && man 7 kprof-events | grep -q tracepoint -i'
inside 'source /usr/share/bash-completion/bash_completion
	_completion_loader kprof || true
	complete -p kprof'
inside 'zcat -f /usr/share/doc/kprof/copyright | grep -q "Apache License"'
inside 'dpkg -r kprof && ! command -v kprof'
echo "the package works in a clean root"
