#!/usr/bin/env bash
# Usage: callpaths.sh [REGEXP]
#
# Builds programs without frame pointers, with gcc, clang and rustc, as position-independent code
# and not, static, and with link-time optimization, each of which knows its call path at any
# moment; records them; and prints of how many samples kprof's stack is that path, by way of
# perf.data and live, and perf's: those of kprof must be 99 of 100. REGEXP selects builds by
# their names. Compilers that are missing are installed, which takes root, as recording does.
# PERF is another perf to compare with. It takes ten seconds for a build, and is no part of make
# test, which does the first alone.
set -euo pipefail
export LC_ALL=C
case ${1-} in -*) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0" && exit 2 ;; esac
cd "$(dirname "$0")/.."
missing=()
for program in gcc:gcc g++:g++ clang:clang ld.lld:lld rustc:rustc perf:linux-perf; do
	command -v "${program%%:*}" >/dev/null || missing+=("${program#*:}")
done
echo 'int main(void) { return 0; }' | gcc -m32 -x c -o /dev/null - 2>/dev/null || missing+=(gcc-multilib)
if [ ${#missing[@]} -gt 0 ]; then
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -n "${PERF-}" ]; then
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$(realpath "$PERF")" >"$dir/perf" && chmod 755 "$dir/perf"
	PATH=$dir:$PATH
fi
perf --version
go test -c -o "$dir/test" ./cmd/kprof
cd cmd/kprof
KPROF_CALL_PATHS=${1:-.} "$dir/test" -test.run '^TestLiveCallPaths$' -test.v | sed -n 's/^ *callpaths_live_test.go:[0-9]*: //p; /^ \{4,\}[0-9]* /p; /^--- /p; /^PASS/p; /^FAIL/p'
exit "${PIPESTATUS[0]}"
