#!/bin/bash
# Records the same load again and again, and counts in how many pairs of these equal
# recordings kprof diff says that something changed: at the default level that may be one
# in twenty, in each kind of input.
#
#	testdata/pairs.sh record DIR N    # adds N recordings of a second and a half to DIR
#	testdata/pairs.sh compare DIR     # prints a table of all recordings in DIR
#	testdata/pairs.sh idle DIR        # the same, where the machine did nothing else
#
# Those of which it is said that nothing can be told, since other programs ran, or interrupts
# differ, are counted apart, as unclear. What else runs on the machine meanwhile is no equal
# load: only the pairs of one program (--comm) are judged by then. It is no part of make test.
set -euo pipefail
export LC_ALL=C
kprof=${KPROF:-.build/kprof}
what=${1:?record, compare or idle} dir=${2:?a directory}

work() {
	# Processes one after the other, each with phases: system calls, comparing, computing.
	# Nothing is written to a disk, which has states of its own.
	while :; do
		ls -lR /usr/include >"$memory/list"
		sort -k 9 "$memory/list" >/dev/null
		gzip -c "$memory/list" >/dev/null
	done
}

case $what in
record)
	mkdir -p "$dir"
	memory=$(mktemp -d -p /dev/shm)
	work & load=$!
	trap 'exit 1' INT TERM
	trap 'kill $load; wait $load || :; rm -rf "$memory"' EXIT
	sleep 0.3
	for ((i = 0; i < ${3:?how many}; i++)); do
		n=$(find "$dir" -name '*.data' | wc -l)
		name=$(printf '%s/%04d' "$dir" "$n")
		"$kprof" record -q -a -d 1500ms -o "$name.data"
	done 2>/dev/null
	;;
compare | idle)
	[ $what = compare ] || export KPROF_PAIRS_IDLE=1
	KPROF_PAIRS=$(realpath "$dir") go test -count 1 -run 'TestRecordedPairs' -v ./convert/compare | grep -v '^=== '
	;;
esac
