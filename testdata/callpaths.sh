#!/usr/bin/env bash
# Usage: callpaths.sh [REGEXP]
#        callpaths.sh arm64 [REGEXP]
#
# Builds programs without frame pointers, with gcc, clang and rustc, as position-independent code
# and not, static, and with link-time optimization, each of which knows its call path at any
# moment; records them; and prints of how many samples kprof's stack is that path, by way of
# perf.data and live, and perf's: those of kprof must be 99 of 100. REGEXP selects builds by
# their names. Compilers that are missing are installed, which takes root, as recording does.
# perf is the newest of Debian's backports, which is unpacked in .build/callpaths with the
# libraries that it needs, or with PERF=installed the machine's. It takes ten seconds for a build,
# and is no part of make test, which does the first alone.
#
# With arm64 the programs are compiled for it, and recorded in an emulated machine (rig.sh), without
# perf: also with signed return addresses, and where .debug_frame alone has call frame information.
# GUEST names another than 6.1-arm64. With RIG_QEMU=-singlestep the program may be interrupted at
# any instruction, as on a real machine, which takes longer.
set -euo pipefail
export LC_ALL=C
case ${1-} in -*) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0" && exit 2 ;; esac
cd "$(dirname "$0")/.."
. testdata/aptconf.sh
# install has Debian's packages that are missing.
install() {
	[ $# -gt 0 ] || return 0
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >&2
}
# compiles_rust LIBC reports whether there is Rust for arm64.
compiles_rust() { [ -d "$(rustc --print target-libdir --target "aarch64-unknown-linux-$1" 2>/dev/null)" ]; }
# debian_rust takes Debian's instead, with the lists of packages that rig.sh has.
debian_rust() {
	local root=$PWD/.build/callpaths/rust names version
	if [ ! -x "$root/rustc" ]; then
		testdata/rig.sh -install 6.1-arm64
		names=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances rustc-web |
			grep -E '^(rustc-web|libstd-rust-web-[0-9.]+|libllvm[0-9]+)$' | sort -u) &&
			version=$(apt-cache show --no-all-versions rustc-web | sed -n 's/^Version: //p') &&
			mkdir -p "$root/debs" || return
		(cd "$root/debs" && apt-get download -q $names &&
			APT_CONFIG=$OLDPWD/.build/rig/cache/apt/conf apt-get download -q "libstd-rust-web-dev:arm64=$version" &&
			for name in *.deb; do dpkg-deb -x "$name" ..; done) >&2 || return
		cat >"$root/rustc" <<-END
			#!/bin/sh
			LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu exec "$root/usr/bin/rustc" --sysroot "$root/usr" "\$@"
		END
		chmod 755 "$root/rustc"
	fi
	PATH=$root:$PATH
}
missing=()
if [ "${1-}" = arm64 ]; then
	for program in aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu clang:clang ld.lld:lld; do
		command -v "${program%%:*}" >/dev/null || missing+=("${program#*:}" libc6-dev-arm64-cross)
	done
	install "${missing[@]}"
	compiles_rust gnu || rustup target add aarch64-unknown-linux-{gnu,musl} >&2 || debian_rust || echo "no Rust for arm64" >&2
	KPROF_CALL_PATHS=${2:-.} RIG_LIMIT=${RIG_LIMIT:-3600} exec testdata/rig.sh -only '^TestLiveCallPaths$' "${GUEST:-6.1-arm64}"
fi
for program in gcc:gcc g++:g++ clang:clang ld.lld:lld rustc:rustc perf:linux-perf; do
	command -v "${program%%:*}" >/dev/null || missing+=("${program#*:}")
done
echo 'int main(void) { return 0; }' | gcc -m32 -x c -o /dev/null - 2>/dev/null || missing+=(gcc-multilib)
install "${missing[@]}"
out=$PWD/.build/callpaths
# newest_perf makes the command $out/perf.
newest_perf() {
	local root=$out/root list name
	mkdir -p "$out"/apt/{state/lists/partial,archives/partial,parts} "$root" && : >"$out/apt/status" || return
	for suite in trixie trixie-backports; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
	done >"$out/apt/sources.list"
	apt_conf "$out/apt" >"$out/apt/conf"
	export APT_CONFIG=$out/apt/conf
	apt-get update -q >&2 || return
	# All that it links to, but not what its scripts are run by.
	list=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances linux-perf |
		grep -E '^(lib|zlib1g|linux-perf$)' | grep -vE '^(libperl|libpython.*-(minimal|stdlib)|libc-)' | sort -u) || return
	(cd "$out/apt/archives" && for name in $list; do
		case $name in linux-perf) name+=/trixie-backports ;; esac
		apt-get download -q "$name" >&2 || echo "no $name" >&2
	done && for name in *.deb; do dpkg-deb -x "$name" "$root"; done) || return
	cat >"$out/perf" <<-END
		#!/bin/sh
		lib=$root/usr/lib/x86_64-linux-gnu
		exec "\$lib/ld-linux-x86-64.so.2" --library-path "\$lib" "$root/usr/bin/perf" "\$@"
	END
	chmod 755 "$out/perf"
	unset APT_CONFIG
}
if [ "${PERF-}" != installed ]; then
	[ -x "$out/perf" ] && "$out/perf" --version >/dev/null || newest_perf
	PATH=$out:$PATH
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
perf --version
go test -c -o "$dir/test" ./cmd/kprof
cd cmd/kprof
KPROF_CALL_PATHS=${1:-.} "$dir/test" -test.run '^TestLiveCallPaths$' -test.v | sed -n 's/^ *callpaths_live_test.go:[0-9]*: //p; /^ \{4,\}[0-9]* /p; /^--- /p; /^PASS/p; /^FAIL/p'
exit "${PIPESTATUS[0]}"
