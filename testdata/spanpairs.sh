#!/usr/bin/env bash
# Usage: spanpairs.sh [-n PAIRS] KPROF
#
# Records the system calls of the same command again and again, and counts in how many pairs
# of these equal recordings KPROF diff says that something changed: of 200 at most 17 may be.
# It takes root, and four seconds for a pair; it is no part of make test, which simulates them.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$0")/numbered.sh"
numbered n 200 "$@"
pairs=$number
wrong=0
for ((i = 1; i <= pairs; i++)); do
	for side in base new; do
		"$kprof" record -q --max-lost 0 -e span:syscalls -o "$dir/$side.data" -- ls -lR /etc >/dev/null
	done
	outcome=$( ("$kprof" diff -q --json "$dir/base.data" "$dir/new.data" 2>/dev/null || : ) | sed -n 's/^ "outcome": "\(.*\)",$/\1/p')
	case $outcome in
	changed) wrong=$((wrong + 1)) ;;
	'') echo "no outcome of pair $i" && exit 1 ;;
	esac
	[ $((i % 20)) != 0 ] || echo "$wrong of $i pairs of equal recordings are said to differ"
done
over=$((20 * wrong - pairs))
[ $over -le 0 ] || [ $((over * over)) -le $((98 * pairs)) ] # 2.3 standard deviations
