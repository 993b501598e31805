#!/usr/bin/env bash
# Usage: mmio.sh [DIR]
# Builds an arm64 kernel with TRACE_MMIO_ACCESS, which Debian's are without, from Debian's
# source, and has it record accesses to registers in QEMU, and die of one that nothing
# answers. What it recorded is in DIR, .build/mmio/captures by default: registers.data,
# registers.txt, iomem, vmallocinfo, and oops.log, what it said to its end. Those in
# convert/registers/testdata were made so.
#
# It takes half an hour of CPU and 3 GB. Packages are unpacked in .build/mmio, and none is
# installed; wanted are apt-get, make, gcc, bc, cpio, qemu-system-aarch64, and what rig.sh
# keeps of busybox for arm64 (rig.sh -install 6.1-arm64).
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/.build/mmio series=6.1
to=${1:-$out/captures}
mkdir -p "$out/deb" "$to"
source=$out/src/linux-source-$series

if [ ! -d "$source" ]; then
	(cd "$out/deb" && apt-get download -q linux-source-$series gcc-12-aarch64-linux-gnu cpp-12-aarch64-linux-gnu \
		binutils-aarch64-linux-gnu libgcc-12-dev-arm64-cross flex libfl2 bison m4)
	for deb in "$out"/deb/*.deb; do
		case $deb in
		*/linux-source*) dpkg -x "$deb" "$out/src" ;;
		*) dpkg -x "$deb" "$out/tools" ;;
		esac
	done
	tar -C "$out/src" -xf "$out/src/usr/src/linux-source-$series.tar.xz"
fi
tools=$out/tools/usr
ln -sf aarch64-linux-gnu-gcc-12 "$tools/bin/aarch64-linux-gnu-gcc"
kernel() {
	PATH=$tools/bin:$PATH LD_LIBRARY_PATH=$tools/lib/x86_64-linux-gnu BISON_PKGDATADIR=$tools/share/bison M4=$tools/bin/m4 \
		nice -n 19 make -s -C "$source" O="$out/kernel" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- LOCALVERSION=-mmio "$@"
}
mkdir -p "$out/kernel"
cp -r testdata/mmio/module "$out/"
grep '^CONFIG' testdata/mmio/config >"$out/config"
KCONFIG_ALLCONFIG=$out/config kernel allnoconfig
while read -r line; do
	grep -qx "$line" "$out/kernel/.config" || { echo "mmio.sh: this kernel does not take $line" >&2; exit 1; }
done <"$out/config"
kernel -j"$(nproc)" Image modules
kernel M="$out/module" modules

rm -rf "$out/root" && mkdir -p "$out"/root/{bin,proc,sys,dev,tmp,etc}
cp .build/rig/cache/busybox-arm64/busybox "$out/root/bin/"
cp testdata/mmio/init "$out/root/init" && chmod 755 "$out/root/init"
cp "$out/module/access.ko" "$out/root/"
CGO_ENABLED=0 GOARCH=arm64 go build -trimpath -o "$out/root/bin/kprof" ./cmd/kprof
(cd "$out/root" && find . | cpio -o -H newc --quiet) >"$out/initramfs"
rm -f "$out/disk" && truncate -s 64M "$out/disk"
# It ends by its panic.
timeout --foreground 300 qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 -accel tcg,thread=single -m 512 \
	-display none -serial stdio -monitor none -nic none -no-reboot \
	-drive "file=$out/disk,format=raw,if=none,id=d0,cache=unsafe" -device virtio-blk-device,drive=d0 \
	-kernel "$out/kernel/arch/arm64/boot/Image" -initrd "$out/initramfs" \
	-append "console=ttyAMA0 panic=-1 oops=panic" </dev/null >"$out/console" 2>&1 || true
tar -C "$to" -xf "$out/disk"
tr -d '\r' <"$out/console" >"$to/oops.log"
grep -q 'Fatal exception' "$to/oops.log" || { echo "mmio.sh: the kernel did not die as it should: $to/oops.log" >&2; exit 1; }
ls -l "$to"
