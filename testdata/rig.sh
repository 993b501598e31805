#!/usr/bin/env bash
# Usage: rig.sh [-json] [-share | -only TESTS] [GUEST...]
#        rig.sh -install [GUEST...]
#        rig.sh -run SCRIPT [-with FILE]... [GUEST...]
#
# Boots kernels that have kprobes in QEMU, two at a time, runs this project's
# live tests in them, then has this machine's perf read the recordings they made,
# and kprof compare them.
# GUEST is SERIES-ARCH, of Debian's cloud kernels, SERIES being newest for the newest
# of the backports; SERIES+pmu-arm64 is one whose PMU counts instructions, for the tests
# of that alone; without one: 6.1-amd64 6.12-amd64 6.1-arm64 6.1+pmu-arm64. With -json the output is that of go test -json, in which a
# package is called PACKAGE@GUEST and "testdata/rig@GUEST Boot" is the guest
# itself: skipped when it could not be had, as it is offline.
#
# -run runs a script for sh in the guests instead, which have busybox and kprof, and in /bin the
# files of -with. What it leaves in /out is in .build/rig/GUEST/out when it has ended, within
# RIG_LIMIT seconds (900).
#
# Of tests for which one kernel is enough a guest runs its share where all of them run, or
# with -share, and all where it is named.
#
# -install only gets what it needs: programs with apt-get, as root, and kernels.
# These are the newest of their series; they are kept in .build/rig/cache, and
# looked for again after a day. Logs, recordings and results lie in
# .build/rig/GUEST, and in .build/rig/GUEST.failed those of the last time that a test failed. RIG_SUITES names suites of Debian to look in beside those of
# these guests; RIG_QEMU is what else QEMU is told, as -singlestep: then any instruction
# may be interrupted, not only where a jump leads to.
set -uo pipefail
cd "$(dirname "$0")/.."
. testdata/aptconf.sh
exec </dev/null
export PATH=$PATH:/usr/local/go/bin:/usr/lib/go/bin
out=$PWD/.build/rig
cache=$out/cache
json= only= install= share= script= with=()
while [ $# -gt 0 ]; do
	case $1 in
	-json) json=1 ;;
	-install) install=1 ;;
	-only) only=$2 && shift ;;
	-share) share=1 ;;
	-run) script=$2 && shift ;;
	-with) with+=("$2") && shift ;;
	*) break ;;
	esac
	shift
done
guests=("$@")
# The slowest one first.
[ $# -gt 0 ] || share=1 guests=(6.1-amd64 6.12-amd64 6.1-arm64 6.1+pmu-arm64)

# What runs in a guest: packages, and which of their tests. Others need programs
# that a guest does not have, or are about the load that a machine can take.
packages=(./perfevent ./perfevent/count ./perfevent/event ./perfevent/tracefs ./record ./testdata/rig ./cmd/kprof)
declare -A run=(
	[./perfevent]='^TestLive'
	[./perfevent/count]='^Test(Kprobe|Live|PMU)'
	[./perfevent/event]='^Test(Kprobe|Probe|Live(Uprobe$|Tracepoint|Errors))'
	[./perfevent/tracefs]='^TestLive'
	[./record]='^Test(Kprobe|Launch(ExitCodes|CannotRun|Inherits)|Live(Cgroup|Exiting|Kinds|Synthesize|NotItself))'
	[./testdata/rig]='^TestGuest'
	[./cmd/kprof]='^Test(KprobeTopicExamples|Live(Killed|Interrupt|InterruptAll|FullDisk|Permissions|StatExact|StatSignal))$'
)
# And those that record programs in C, where a compiler for the guest is here.
run_compiled='^Test(KprobeTopicExamples|Live(Killed|Interrupt|InterruptAll|FullDisk|Kept|DiffSlower|Permissions|StatExact|StatSignal|CallPaths))$'
# On an emulated arm64 only what looks at registers, addresses, frames, names, or at many
# CPUs: what else depends on the kernel does so on amd64 alike, where its series runs too,
# and to emulate it is what takes longest of all tests.
declare -A skip_arm64=(
	[./record]='^Test(Launch|LiveCgroup|LiveExiting)'
	[./testdata/rig]='^TestGuest(Killed|Refused|Events|Graph|TracerKilled|Known|Spans|Offline)$'
	[./cmd/kprof]='^Test(KprobeTopicExamples|Live(Killed|Interrupt|InterruptAll|FullDisk|Permissions|StatSignal))$'
)
# On amd64 two series run. What differs between kernels, and is not about registers and
# frames, the newer one shows beside arm64, which has the older; what hardly differs, and
# runs on the machine itself too, the older one, or none.
declare -A skip_amd64=(
	["6.12 ./cmd/kprof"]='^TestLive(Killed|Interrupt|InterruptAll|FullDisk|Kept|DiffSlower|Permissions|StatSignal|CallPaths)$'
	["6.12 ./testdata/rig"]='^TestGuest(Killed|Kept|Graph|Known|Offline|Events)$'
	["6.1 ./cmd/kprof"]='^Test(KprobeTopicExamples|Live(StatExact|CallPaths|Permissions))$'
	["6.1 ./testdata/rig"]='^TestGuest(Doctor|Examples|Module|Hits|Walk|GraphCounts|TracerKilled|Symbols|FunctionTrace|Refused)$'
	["6.1 ./perfevent/event"]=.
	["6.1 ./perfevent/count"]=.
	["6.1 ./record"]=.
)
# What runs where the PMU counts instructions.
declare -A run_pmu=(
	[./perfevent/count]='^TestPMU'
	[./testdata/rig]='^TestPMU'
)
# Seconds for the tests of a package, and for a guest two minutes more.
limit=${RIG_LIMIT:-900}

say() { echo "rig: $*" >&2; }

# event ACTION GUEST [TEXT] prints what go test -json would of the guest itself.
event() {
	local text=${3-} pkg=testdata/rig@$2
	[ -n "$json" ] || { say "$2: $1${text:+: $text}"; return; }
	printf '{"Action":"run","Package":"%s","Test":"Boot"}\n' "$pkg"
	if [ -n "$text" ]; then
		text=$(printf '%s' "$text" | tr -d '\000-\010\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; s/\t/ /g' | awk '{ printf "%s\\n", $0 }')
		printf '{"Action":"output","Package":"%s","Test":"Boot","Output":"%s"}\n' "$pkg" "$text"
	fi
	printf '{"Action":"%s","Package":"%s","Test":"Boot"}\n' "$1" "$pkg"
}

install_needs() {
	local missing=()
	command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
	command -v qemu-system-aarch64 >/dev/null || missing+=(qemu-system-arm)
	command -v cpio >/dev/null || missing+=(cpio)
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || { say "install ${missing[*]}"; return 1; }
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2 ||
		{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } >&2
}

# apt runs apt-get or apt-cache on lists of our own, of both architectures; the
# machine's settings stay as they are.
apt() {
	mkdir -p "$cache"/apt/{state/lists/partial,archives/partial,parts}
	: >"$cache/apt/status"
	for suite in bookworm trixie trixie-backports ${RIG_SUITES-}; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
		[[ $suite = *-backports ]] ||
			echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security $suite-security main"
	done >"$cache/apt/sources.list.new"
	cmp -s "$cache"/apt/sources.list{.new,} || { mv "$cache"/apt/sources.list{.new,} && rm -f "$cache"/apt/updated "$cache"/apt/failed; }
	apt_conf "$cache/apt" >"$cache/apt/conf"
	cat >>"$cache/apt/conf" <<-END
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; "arm64"; };
		Acquire::Retries "2";
		Acquire::http::Timeout "20";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
	END
	APT_CONFIG=$cache/apt/conf "$@"
}

# lists brings the lists of packages up to date, once a day; where that failed,
# as it does offline, it is tried again after ten minutes.
lists() {
	apt true
	[ -z "$(find "$cache/apt/updated" -mtime -1 2>/dev/null)" ] || return 0
	[ -z "$(find "$cache/apt/failed" -mmin -10 2>/dev/null)" ] || return 1
	apt apt-get update -q -o APT::Update::Error-Mode=any >&2 && touch "$cache/apt/updated" ||
		{ touch "$cache/apt/failed" && return 1; }
}

# unpack PACKAGE:ARCH DIR downloads a package and unpacks it.
unpack() {
	local debs
	rm -rf "$2" && mkdir -p "$2/deb" &&
		(cd "$2/deb" && apt apt-get download -q "$1" >&2) &&
		debs=("$2"/deb/*.deb) && dpkg -x "${debs[0]}" "$2" && rm -r "$2/deb"
}

# kernel SERIES ARCH prints the path of a kernel: the newest there is, or the
# newest kept here when there is none to be had.
kernel() {
	local series=$1 arch=$2 name= dir version=${1//./\\.}'\.[0-9.]*'
	[ "$series" != newest ] || version='[0-9.]*'
	mkdir -p "$cache"
	if lists; then
		# From 7.1 on, what boots is in linux-binary, and modules are packages too.
		name=$(apt apt-cache pkgnames linux- |
			grep -E "^linux-(image|binary)-$version[-+][^-]*-?cloud-$arch\$" | sort -t - -k 3V -k 2,2r | tail -n 1)
	fi
	dir=$cache/${name/linux-binary/linux-image}
	if [ -n "$name" ] && [ ! -e "$dir/vmlinuz" ]; then
		unpack "$name:$arch" "$dir.new" &&
			mv "$(find "$dir.new" -name 'vmlinuz*' -type f | head -n 1)" "$dir.new/vmlinuz" && rm -rf "$dir" && mv "$dir.new" "$dir"
		[[ $name != linux-binary-* ]] || unpack "${name/linux-binary/linux-modules}:$arch" "$dir/modules"
	fi
	if [ -z "$name" ] || [ ! -e "$dir/vmlinuz" ]; then
		version=$series.
		[ "$series" != newest ] || version=
		dir=$(ls -d "$cache/linux-image-$version"*"cloud-$arch" 2>/dev/null | grep -v '\.new$' | sort -V | tail -n 1)
		[ -n "$dir" ] && say "no newer kernel could be had than $(basename "$dir")"
	fi
	[ -n "$dir" ] && [ -e "$dir/vmlinuz" ] && echo "$dir/vmlinuz"
}

# busybox ARCH prints the path of a static busybox.
busybox() {
	local dir=$cache/busybox-$1
	[ -e "$dir/busybox" ] ||
		{ lists && unpack "busybox-static:$1" "$dir.new" &&
			mv "$(find "$dir.new" -type f -path "*bin/busybox" | head -n 1)" "$dir.new/busybox" &&
			rm -rf "$dir" && mv "$dir.new" "$dir"; } || return 1
	echo "$dir/busybox"
}

# known KERNEL prints the path of the module of testdata/rig/known for a kernel, where the
# packages to compile it run on this machine too: those of bookworm's.
known() {
	local release dir file name
	release=$(basename "$(dirname "$1")") && release=${release#linux-image-}
	dir=$cache/linux-headers-$release file=$out/known-$release.ko
	[[ $release = 6.1.0-*-amd64 ]] && command -v gcc >/dev/null && command -v make >/dev/null || return 1
	if [ ! -e "$dir" ]; then
		lists && rm -rf "$dir.new" || return 1
		for name in linux-headers-"$release" linux-headers-"${release%%-cloud*}"-common linux-kbuild-6.1; do
			unpack "$name:amd64" "$dir.part" && mkdir -p "$dir.new" && cp -a "$dir.part/usr" "$dir.new/" || return 1
		done
		# Which names what lies beside it by where it would be installed.
		sed -i 's:/usr/src/:../:' "$dir.new/usr/src/linux-headers-$release/Makefile" &&
			rm -rf "$dir.part" && mv "$dir.new" "$dir" || return 1
	fi
	if [ ! -e "$file" ] || [ -n "$(find testdata/rig/known -newer "$file")" ]; then
		rm -rf "$out/known" && cp -r testdata/rig/known "$out/" &&
			make -s -C "$dir/usr/src/linux-headers-$release" M="$out/known" CC=gcc modules >&2 &&
			mv "$out/known/known.ko" "$file" && rm -r "$out/known" || return 1
	fi
	echo "$file"
}

# To compile takes a quarter of the time less with it; nothing of a guest heeds it.
export GOGC=400

# initramfs ARCH makes .build/rig/ARCH.cpio: busybox, kprof, the tests with the
# files they read.
initramfs() {
	local arch=$1 root=$out/$1.root bb pkg compiler tests skip series pmu
	bb=$(busybox "$arch") || return 1
	rm -rf "$root" && mkdir -p "$root"/{bin,rig,proc,sys,dev,tmp,etc} || return 1
	cp "$bb" "$root/bin/busybox" && cp testdata/rig/init "$root/init" && chmod 755 "$root/init" || return 1
	echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
	# Compiled as the packages are, with -trimpath: once for both.
	CGO_ENABLED=0 GOARCH=$arch go build -trimpath -o "$root/bin/kprof" ./cmd/kprof || return 1
	case $arch in amd64) compiler=x86_64-linux-gnu-gcc ;; arm64) compiler=aarch64-linux-gnu-gcc ;; esac
	if [ -n "$script" ]; then
		cp "$script" "$root/rig/tests" && { [ ${#with[@]} = 0 ] || cp "${with[@]}" "$root/bin/"; } && archive "$root" "$out/$arch.cpio"
		return
	fi
	mkdir "$root/prebuilt"
	if command -v $compiler >/dev/null; then
		go test -c -o "$out/kprof.test" ./cmd/kprof &&
			(cd cmd/kprof && KPROF_PREBUILD=$root/prebuilt CC=$compiler "$out/kprof.test") &&
			libraries $compiler "$root/lib" || return 1
	fi
	for pkg in "${packages[@]}"; do
		tests=${run[$pkg]}
		[ $pkg != ./cmd/kprof ] || [ ! -e "$root/prebuilt/new" ] || tests=$run_compiled
		skip=
		[ "$arch" != arm64 ] || skip=${skip_arm64[$pkg]-}
		[ -z "$only" ] || tests=$only skip=
		{
			echo "skip='$skip'"
			if [ "$arch" = amd64 ] && [ -n "$share" ] && [ -z "$only" ]; then
				for series in 6.1 6.12; do
					echo "case \$(uname -r) in $series.*) skip='${skip_amd64["$series $pkg"]-}' ;; esac"
				done
			fi
		} >>"$root/rig/tests"
		mkdir -p "$root/src/$pkg"
		CGO_ENABLED=0 GOARCH=$arch go test -c -trimpath -ldflags=-w -o "$root/src/$pkg/test" "$pkg" || return 1
		[ ! -d "$pkg/testdata" ] || cp -r "$pkg/testdata" "$root/src/$pkg/"
		cat >>"$root/rig/tests" <<-END
			echo "rig: $pkg"
			cd /src/$pkg
			mkdir -p /out/$pkg
			KPROF_LIVE=guest KPROF_KEEP=/out/$pkg KPROF_PREBUILT=/prebuilt KPROF_CALL_PATHS='${KPROF_CALL_PATHS-}' ./test -test.v=test2json -test.timeout=${limit}s -test.run='$tests' -test.skip="\$skip" >/out/$pkg/log 2>&1
			echo \$? >/out/$pkg/status
		END
		pmu=${run_pmu[$pkg]-}
		[ -n "$pmu" ] || continue
		[ -z "$only" ] || pmu=$only
		cat >>"$root/rig/tests+pmu" <<-END
			echo "rig: $pkg"
			cd /src/$pkg
			mkdir -p /out/$pkg
			KPROF_LIVE=guest KPROF_PMU=emulated ./test -test.v=test2json -test.timeout=${limit}s -test.run='$pmu' >/out/$pkg/log 2>&1
			echo \$? >/out/$pkg/status
		END
	done
	archive "$root" "$out/$arch.cpio"
}

# libraries COMPILER DIR copies what dynamic programs need, of which TestLiveCallPaths records
# some where KPROF_CALL_PATHS has their names.
libraries() {
	local name file
	[ -n "${KPROF_CALL_PATHS-}" ] || return 0
	mkdir -p "$2" || return 1
	for name in ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libgcc_s.so.1 libstdc++.so.6; do
		file=$("$1" -print-file-name=$name)
		[ "$file" = $name ] || cp -L "$file" "$2/$name" || return 1
	done
}

# archive DIR FILE moves what is in a directory into an archive for a kernel.
archive() { (cd "$1" && find . | cpio -o -H newc --quiet) >"$2" && rm -rf "$1"; }

# modules KERNEL FILE makes an archive of the modules that tests load.
modules() {
	local root=$2.root module
	mkdir -p "$root/modules" &&
		find "$(dirname "$1")" -name 'loop.ko*' -exec cp {} "$root/modules/" \; &&
		{ ! module=$(known "$1") || cp "$module" "$root/modules/known.ko"; } &&
		archive "$root" "$2"
}

# boot KIND KERNEL DIR WORD runs a guest. It is over when it powers itself off.
boot() {
	local qemu console machine=() more=
	case $1 in
	# One thread for all CPUs: with more, one of them may run a breakpoint that
	# another has just patched away, which Linux does not survive. At boot that is
	# one in ten guests of 4 CPUs (Linux 6.12, QEMU 7.2): "Oops: int3" in
	# sched_clock_cpu, whose static key is switched then, or a double fault where the
	# breakpoint is on the way into an exception.
	#
	# no_timer_check: where the host is so busy that QEMU's timer is late, Linux takes
	# its interrupts for missing and gives up ("IO-APIC + timer doesn't work").
	amd64) qemu=qemu-system-x86_64 console=ttyS0 machine=(-cpu max -smp 2) more=no_timer_check ;;
	# So many CPUs that a probe on all of them goes through tracefs.
	arm64) qemu=qemu-system-aarch64 console=ttyAMA0 machine=(-M virt -cpu max,pauth-impdef=on -smp 5) ;;
	# Time goes by instructions, 2 ns each, which the PMU then counts: of all CPUs, so
	# that there is one. It does not wait where the CPU does.
	pmu) qemu=qemu-system-aarch64 console=ttyAMA0 machine=(-M virt -cpu max,pauth-impdef=on -smp 1 -icount shift=1,sleep=off) more=kprof.tests=tests+pmu ;;
	esac
	truncate -s 256M "$3/disk" &&
		timeout --foreground $((limit + 120)) $qemu "${machine[@]}" -accel tcg,thread=single -m 1024 \
			-display none -serial stdio -monitor none -nic none -no-reboot \
			-drive "file=$3/disk,format=raw,if=none,id=d0,cache=unsafe" -device nvme,drive=d0,serial=kprof \
			-kernel "$2" -initrd "$3/initramfs" -append "console=$console quiet panic=-1 $more kprof.word=$4" ${RIG_QEMU-} \
			>"$3/console" 2>&1
}

# results GUEST DIR prints what the tests of a guest said. It fails if one did.
results() {
	local pkg name status failed=0 ran=("${packages[@]}")
	[[ $1 != *+pmu-* ]] || ran=("${!run_pmu[@]}")
	for pkg in "${ran[@]}"; do
		name=${pkg#./}@$1
		status=$(cat "$2/$pkg/status" 2>/dev/null || echo none)
		[ "$status" = 0 ] || failed=1
		if [ -n "$json" ]; then
			go tool test2json -p "$name" <"$2/$pkg/log"
			# A log that ends early says nothing of a failure.
			[ "$status" = 0 ] || printf '{"Action":"fail","Package":"%s"}\n' "$name"
		else
			grep -E '^.?(--- (FAIL|SKIP)|FAIL|PASS|ok|panic)|^ +[a-z_]+\.go' "$2/$pkg/log"
			say "$name: exit status $status, $(grep -c -- '--- PASS' "$2/$pkg/log") passed"
		fi
	done
	return $failed
}

# recordings GUEST DIR has this machine's perf read what a guest recorded.
recordings() {
	local tests='^Test(Perf|HostSymbols)'
	# Of these nothing else is kept.
	[[ $1 != *-arm64 && ( $1 != 6.12-amd64 || -z $share ) ]] || tests='^Test(PerfReads|HostSymbols)'
	[[ $1 != 6.1-amd64 || -z $share ]] || tests='^TestPerf' # without TestGuestSymbols
	if [ -n "$only" ]; then
		tests='^$'
		[ -z "$(find "$2/testdata/rig" -maxdepth 1 -name '*.data' 2>/dev/null)" ] || tests='^Test(PerfReads|HostSymbols)'
		[ ! -e "$2/testdata/rig/offcpu" ] || tests="$tests|^TestPerfOffCPU"
		[ ! -e "$2/testdata/rig/formats.txtar" ] || tests="$tests|^TestPerfEvents"
		[ -z "$(find "$2/cmd/kprof" -name samples 2>/dev/null)" ] || tests="$tests|^TestPerfCounts"
	fi
	export KPROF_RECORDINGS=$2/testdata/rig KPROF_COUNTED=$2/cmd/kprof
	if [ -n "$json" ]; then
		go tool test2json -p "testdata/rig@$1" "$out/host.test" -test.v=test2json -test.run="$tests"
	else
		"$out/host.test" -test.run="$tests" >&2
	fi
}

# comparison has kprof compare what the guests recorded; GUEST is whose test it is.
comparison() {
	export PATH=$out/bin:$PATH KPROF_GUESTS=$out
	go build -o "$out/bin/kprof" ./cmd/kprof || return 1
	if [ -n "$json" ]; then
		go tool test2json -p "testdata/rig@$1" "$out/host.test" -test.v=test2json -test.run='^TestHostCompare'
	else
		"$out/host.test" -test.run='^TestHostCompare' >&2
	fi
}

# guest GUEST KERNEL boots a guest and prints what became of it.
guest() {
	local arch=${1##*-} kind=${1##*-} dir=$out/$1 word start=$SECONDS
	[[ $1 != *+pmu-* ]] || kind=pmu
	rm -rf "$dir" && mkdir -p "$dir/out" && modules "$2" "$dir/modules" &&
		cat "$out/$arch.cpio" "$dir/modules" >"$dir/initramfs" ||
		{ event fail "$1" "its initramfs could not be made" && return 1; }
	# The guest repeats this word last of all: nothing else means success.
	word=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
	boot "$kind" "$2" "$dir" "$word"
	if ! tr -d '\r' <"$dir/console" | grep -qx "rig: $word" || ! tar --warning=no-timestamp -C "$dir/out" -xf "$dir/disk"; then
		event fail "$1" "it did not come to its end in $((SECONDS - start)) s; $dir/console ends with
$(tail -n 40 "$dir/console")"
		return 1
	fi
	rm "$dir/disk" "$dir/initramfs" "$dir/modules"
	local failed=0
	[ -n "$script" ] || results "$1" "$dir/out" || failed=1
	[ "$kind" = pmu ] || [ -n "$script" ] || recordings "$1" "$dir/out" || failed=1
	event pass "$1" "Linux $(cat "$dir/out/release") in $((SECONDS - start)) s"
	# What a test failed with is there to look at when it has been run again.
	[ $failed = 0 ] || { rm -rf "$dir.failed" && cp -r "$dir" "$dir.failed"; }
	return $failed
}

if ! install_needs; then
	[ -n "$install" ] || for g in "${guests[@]}"; do event skip "$g" "QEMU or cpio are missing and could not be installed"; done
	exit 0
fi

# What can be had, and the archives for it, before any guest takes the CPUs.
declare -A kernels=()
for g in "${guests[@]}"; do
	series=${g%-*}
	image=$(kernel "${series%+pmu}" "${g##*-}") && busybox "${g##*-}" >/dev/null && kernels[$g]=$image && { known "$image" >/dev/null || :; } ||
		[ -n "$install" ] || event skip "$g" "no kernel ${g%-*} for ${g##*-} could be downloaded, and none is kept"
done
[ -z "$install" ] && [ ${#kernels[@]} -gt 0 ] || exit 0
[ -n "$script" ] || go test -c -ldflags=-w -o "$out/host.test" ./testdata/rig || exit 1
for arch in amd64 arm64; do
	case " ${!kernels[*]}" in *"-$arch"*) initramfs "$arch" || { say "no initramfs for $arch"; exit 1; } ;; esac
done

# Two at a time; each says what it has to say when it is done.
failed=0 running=0
for g in "${guests[@]}"; do
	[ -n "${kernels[$g]-}" ] || continue
	if [ $running = 2 ]; then
		wait -n || failed=1
		running=$((running - 1))
	fi
	{
		guest "$g" "${kernels[$g]}" >"$out/$g.said"
		status=$?
		# A line of one guest is not cut by one of another.
		flock "$out" cat "$out/$g.said"
		exit $status
	} &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || failed=1
	running=$((running - 1))
done
if [ -z "$only$script" ] && [ ${#kernels[@]} -gt 0 ]; then
	comparison "${guests[0]}" || failed=1
fi
exit $failed
