#!/bin/bash
# Records the same load again and again, and counts in how many pairs of these equal
# recordings kprof diff says that something changed: at the default level that may be one
# in twenty, in each kind of input.
#
#	testdata/pairs.sh record DIR N         # adds N recordings of a second and a half to DIR
#	testdata/pairs.sh guest DIR N [GUEST]  # the same in a guest of rig.sh (6.1-amd64)
#	testdata/pairs.sh compare DIR          # prints a table of all recordings in DIR
#	testdata/pairs.sh idle DIR             # the same, where the machine did nothing else, as guests do
#
# Those of which it is said that nothing can be told, since other programs ran, or interrupts
# differ, are counted apart, as unclear. What else runs on the machine meanwhile is no equal
# load: only the pairs of one program (--comm) are judged by then. It is no part of make test.
set -euo pipefail
export LC_ALL=C
kprof=${KPROF:-.build/kprof}
what=${1:?record, guest, compare or idle} dir=${2:?a directory}

work() {
	# Processes one after the other, each with phases: system calls, comparing, computing.
	# Nothing is written to a disk, which has states of its own.
	while :; do
		ls -lR /usr/include >"$memory/list"
		sort -k 9 "$memory/list" >/dev/null
		gzip -c "$memory/list" >/dev/null
	done
}

# next prints the name of a new recording.
next() { printf '%s/%04d.data' "$dir" "$(find "$dir" -name '*.data' | wc -l)"; }

case $what in
record)
	mkdir -p "$dir"
	memory=$(mktemp -d -p /dev/shm)
	work & load=$!
	trap 'exit 1' INT TERM
	trap 'kill $load; wait $load || :; rm -rf "$memory"' EXIT
	sleep 0.3
	for ((i = 0; i < ${3:?how many}; i++)); do
		"$kprof" record -q -a -d 1500ms -o "$(next)"
	done 2>/dev/null
	;;
guest)
	mkdir -p "$dir"
	guest=${4:-6.1-amd64}
	script=$(mktemp)
	trap 'rm "$script"' EXIT
	# Smaller pieces of the same, since an emulated machine is slow.
	cat >"$script" <<-END
		for i in \$(seq 20); do
			mkdir -p /tmp/tree/\$i && for j in \$(seq 25); do echo \$j >/tmp/tree/\$i/\$j; done
		done
		cat >/tmp/work <<-'WORK'
			while :; do
				/bin/ls -lR /tmp/tree >/tmp/list
				/bin/sort -k 9 /tmp/list >/dev/null
				/bin/gzip -c /tmp/list >/dev/null
			done
		WORK
		sh /tmp/work & load=\$!
		sleep 1
		i=0
		while [ \$i -lt ${3:?how many} ]; do
			kprof record -q -a -d 1500ms -o /out/\$((1000 + i)).data || echo "pairs: not recorded"
			i=\$((i + 1))
		done
		kill \$load
	END
	RIG_LIMIT=7200 testdata/rig.sh -run "$script" "$guest"
	for file in .build/rig/"$guest"/out/*.data; do
		mv "$file" "$(next)"
	done
	;;
compare | idle)
	[ $what = compare ] || export KPROF_PAIRS_IDLE=1
	KPROF_PAIRS=$(realpath "$dir") go test -count 1 -run 'TestRecordedPairs' -v ./convert/compare | grep -v '^=== '
	;;
esac
