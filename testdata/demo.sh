#!/usr/bin/env bash
# Usage: demo.sh KPROF
# Records this machine for three seconds under a little load, writes demo.pb.gz
# and demo.folded, and shows the functions that cost most. Where the kernel does
# not let this user record, it says why and takes a recording kept here instead.
set -euo pipefail
kprof=$1
recording=$(dirname "$kprof")/demo.data
names=()

load() {
	while :; do
		head -c 2M /dev/urandom | gzip -1 | sha256sum
		find /usr/share -name '*.gz'
	done
}

load >/dev/null 2>&1 &
trap "kill $! 2>/dev/null || :" EXIT
if why=$("$kprof" record -a -d 3s -o "$recording" 2>&1); then
	echo "$why"
	echo "recorded the machine for three seconds"
else
	echo "$why"
	echo "this user cannot record the machine ('$kprof doctor' tells more); here is a recording made elsewhere"
	recording=testdata/demo.data
	names=(--kallsyms testdata/demo.kallsyms --symfs testdata/symfs)
fi
"$kprof" convert "$recording" -o demo.pb.gz ${names[@]+"${names[@]}"}
"$kprof" convert demo.pb.gz -o demo.folded
echo
"$kprof" report -n 15 demo.pb.gz
echo
echo "wrote demo.pb.gz (go tool pprof -http=: demo.pb.gz) and demo.folded (flamegraph.pl demo.folded > demo.svg)"
