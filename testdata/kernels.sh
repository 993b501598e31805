#!/usr/bin/env bash
# From two kernel trees to a verdict: builds kernels of one source, boots each in QEMU, records
# a load in it, and compares. One of the kernels has a slow function more than the other, and
# a third is that one built with another compiler option: the first line of the verdict must name the
# function, and the code's change it and the function that calls it.
#
#	testdata/kernels.sh build      # downloads the source, builds three kernels
#	testdata/kernels.sh record [N] # boots each N times (3), and records
#	testdata/kernels.sh compare    # compares, and fails where the answer is wrong
#
# The same with kernels of your own: one of them is built in each of two trees, and booted
# with an initramfs whose init records (see record below). What is built and recorded lies in
# .build/kernels. It needs a C compiler, bc, QEMU and busybox-static; what else a kernel's
# build wants is downloaded as Debian's packages and not installed. It is no part of make test.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/.build/kernels
kprof=${KPROF:-$PWD/.build/kprof}
release=${RELEASE:-6.1} # of Debian's package linux-source
added=vfs_read_audit caller=vfs_read

# tools makes what a kernel's build wants and this machine lacks.
tools() {
	local lib=$dir/tools/usr/lib/x86_64-linux-gnu package
	if ! command -v flex >/dev/null || ! command -v bison >/dev/null || [ ! -e /usr/include/libelf.h ]; then
		mkdir -p "$dir/deb"
		for package in flex bison m4 libfl2 libelf-dev libelf1; do
			(cd "$dir/deb" && [ -n "$(ls "$package"_* 2>/dev/null)" ] || apt-get download -q "$package" >&2)
			dpkg -x "$dir/deb/$package"_*.deb "$dir/tools"
		done
	fi
	export PATH=$dir/tools/usr/bin:$PATH M4=$dir/tools/usr/bin/m4 BISON_PKGDATADIR=$dir/tools/usr/share/bison
	[ -x "$M4" ] || unset M4 BISON_PKGDATADIR
	export C_INCLUDE_PATH=$dir/tools/usr/include LIBRARY_PATH=$lib LD_LIBRARY_PATH=$lib
}

# config prints what a kernel needs to run kprof, on allnoconfig: serial lines, files in memory,
# perf, names, and stacks by frame pointers. That takes ten minutes of a CPU to compile, and no
# disk: what was recorded leaves the guest through the second line.
config() {
	printf 'CONFIG_%s=y\n' 64BIT EXPERT PRINTK TTY SERIAL_8250 SERIAL_8250_CONSOLE BINFMT_ELF BINFMT_SCRIPT \
		BLK_DEV_INITRD PROC_FS PROC_SYSCTL SYSFS TMPFS SHMEM DEVTMPFS PERF_EVENTS KALLSYMS KALLSYMS_ALL UNWINDER_FRAME_POINTER \
		HIGH_RES_TIMERS FUTEX EPOLL EVENTFD SIGNALFD TIMERFD POSIX_TIMERS MULTIUSER ADVISE_SYSCALLS MEMBARRIER \
		FILE_LOCKING BASE_FULL CC_OPTIMIZE_FOR_PERFORMANCE
}

# slower adds a function that every read calls.
slower() {
	awk '
		/^ssize_t vfs_read\(/ {
			print "static noinline void vfs_read_audit(size_t count)\n{"
			print "\tunsigned long x = count;\n\tint i;\n"
			print "\tfor (i = 0; i < 400; i++)\n\t\tasm volatile(\"imul $31, %0, %0\" : \"+r\" (x));\n}\n"
			inside = 1
		}
		inside && /^\tret = rw_verify_area\(READ/ { print "\tvfs_read_audit(count);"; inside = 0 }
		{ print }' fs/read_write.c.orig >fs/read_write.c
	[ "$(grep -c vfs_read_audit fs/read_write.c)" = 2 ]
}

# build NAME [MAKE-ARGUMENT...] builds what lies in the source as a kernel of this name.
build() {
	local name=$1 start=$SECONDS
	shift
	nice -n 19 make -s -j "${JOBS:-$(nproc)}" KBUILD_BUILD_TIMESTAMP=0 LOCALVERSION="-$name" "$@" bzImage
	mkdir -p "$dir/$name"
	cp arch/x86/boot/bzImage vmlinux "$dir/$name/"
	echo "kernels: $name built in $((SECONDS - start)) s"
}

build_all() {
	local source=$dir/linux-source-$release
	tools
	if [ ! -e "$source/Makefile" ]; then
		mkdir -p "$dir/deb"
		[ -n "$(ls "$dir/deb/linux-source-$release"_* 2>/dev/null)" ] || (cd "$dir/deb" && apt-get download -q "linux-source-$release" >&2)
		dpkg-deb --fsys-tarfile "$dir/deb/linux-source-$release"_*.deb | tar -xO "./usr/src/linux-source-$release.tar.xz" | tar -xJ -C "$dir"
	fi
	cd "$source"
	[ -e fs/read_write.c.orig ] || cp fs/read_write.c fs/read_write.c.orig
	cp fs/read_write.c.orig fs/read_write.c
	config >"$dir/config"
	make -s allnoconfig KCONFIG_ALLCONFIG="$dir/config"
	build plain
	slower
	build slower
	build other KCFLAGS="-fno-schedule-insns2 -fno-gcse -fno-tree-pre"
}


# initramfs makes the guest's files: busybox, kprof, and an init that records a load so often
# as kernels.runs says, and writes the recordings to the second serial line.
initramfs() {
	local root=$dir/root busybox
	busybox=$(command -v busybox || ls "$PWD"/.build/rig/cache/busybox-amd64/busybox)
	rm -rf "$root" && mkdir -p "$root"/{bin,proc,sys,dev,tmp,out,etc}
	cp "$busybox" "$root/bin/busybox"
	CGO_ENABLED=0 go build -trimpath -o "$root/bin/kprof" ./cmd/kprof
	echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
	cat >"$root/init" <<-'END'
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		export PATH=/bin HOME=/tmp
		mount -t proc proc /proc
		mount -t sysfs sysfs /sys
		mount -t devtmpfs devtmpfs /dev
		mount -t tmpfs tmpfs /tmp
		echo 400 >/proc/sys/kernel/perf_event_max_sample_rate
		echo 0 >/proc/sys/kernel/kptr_restrict
		runs=3
		for arg in $(cat /proc/cmdline); do
			case $arg in kernels.runs=*) runs=${arg#*=} ;; esac
		done
		cat >/tmp/load <<-'LOAD'
			i=0
			while [ $i -lt 8 ]; do
				dd if=/dev/zero of=/tmp/file bs=4k count=1500
				cat /tmp/file /tmp/file | wc -c
				rm /tmp/file
				ls -lR /sys/devices | sort >/dev/null
				i=$((i + 1))
			done >/dev/null 2>&1
		LOAD
		sh /tmp/load
		run=0
		while [ $run -lt $runs ]; do
			kprof record -q -e cpu-clock -F 397 -o /out/$run.data -- sh /tmp/load || echo "kernels: not recorded"
			run=$((run + 1))
		done
		stty -F /dev/ttyS1 raw
		# The second stty waits until all of it is sent.
		tar -C /out -czf - . >/dev/ttyS1 && stty -F /dev/ttyS1 raw && echo "kernels: recorded"
		reboot -f
	END
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$dir/initramfs"
	rm -rf "$root"
}

# record NAME RUNS boots a kernel, which records. One thread for all CPUs, as in rig.sh.
record() {
	local out=$dir/$1
	rm -rf "$out/runs" && mkdir -p "$out/runs"
	timeout --foreground 900 qemu-system-x86_64 -cpu max -accel tcg,thread=single -m 1024 -display none \
		-serial stdio -serial "file:$out/recorded.tar.gz" -monitor none -nic none -no-reboot \
		-kernel "$out/bzImage" -initrd "$dir/initramfs" \
		-append "console=ttyS0 quiet panic=-1 no_timer_check kernels.runs=$2" </dev/null >"$out/console" 2>&1 || :
	grep -q 'kernels: recorded' "$out/console" || { tail -n 20 "$out/console" >&2; echo "kernels: $1 recorded nothing" >&2; return 1; }
	tar -C "$out/runs" -xzf "$out/recorded.tar.gz"
	rm "$out/recorded.tar.gz"
	echo "kernels: $1: $(ls "$out/runs" | wc -l) recordings"
}

# verdict OTHER compares the plain kernel with another one.
verdict() {
	local said=$dir/$1.txt
	"$kprof" diff -q --base-vmlinux "$dir/plain/vmlinux" --new-vmlinux "$dir/$1/vmlinux" "$dir/plain/runs" "$dir/$1/runs" >"$said"
	echo "--- plain and $1:"
	head -n 1 "$said"
	grep -nE "^.*($added|$caller)" "$said" | head -n 12 || :
	head -n 1 "$said" | grep -q "Changed: .*$added " || { echo "kernels: the verdict does not name $added"; wrong=1; }
	awk '/^Code|code/ { code = 1 } code' "$said" | grep -q "$added" && awk '/^Code|code/ { code = 1 } code' "$said" | grep -q "$caller.*$added" ||
		{ echo "kernels: the code's change does not name $added and $caller"; wrong=1; }
}

case ${1-} in
build) build_all ;;
record)
	go build -o "$kprof" ./cmd/kprof
	initramfs
	for name in plain slower other; do
		[ ! -e "$dir/$name/bzImage" ] || record $name "${2:-3}"
	done
	;;
compare)
	wrong=0
	for name in slower other; do
		[ ! -d "$dir/$name/runs" ] || verdict $name
	done
	exit $wrong
	;;
*)
	sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
