#!/usr/bin/env bash
# Usage: every.sh [-d SECONDS] KPROF
#
# Has KPROF record the machine as it would for days, -a -F 49 --every 10s, for SECONDS (3600),
# and prints twelve times what of a CPU that took since, how much memory it has, and the load
# of the machine. It fails where all of it took half a percent of a CPU or more, or where it has
# half as much memory again in the end as after a sixth of the time. It takes root; it is no part
# of make test.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$0")/numbered.sh"
numbered d 3600 "$@"
seconds=$number
recorder=
trap '[ -z "$recorder" ] || kill "$recorder" 2>/dev/null || :; rm -rf "$dir"' EXIT

"$kprof" record -q -a -F 49 --every 10s -d "$((seconds + 60))s" -o "$dir/p.pb.gz" &
recorder=$!
for ((i = 0; i < 12; i++)); do
	sleep $((seconds / 12))
	# Ticks of user and system time, and pages; the command in parentheses may hold blanks.
	sed 's/.*) //' "/proc/$recorder/stat" | awk -v hz="$(getconf CLK_TCK)" -v page="$(getconf PAGESIZE)" \
		-v load="$(cut -d ' ' -f 1 /proc/loadavg)" '{ print ($12 + $13) / hz, int($22 * page / 1024), load }' >>"$dir/looks"
	tail -n 2 "$dir/looks" | awk -v t=$((seconds / 12)) '
		{ said = sprintf("%.2f %% of a CPU, %d kB, load %s", 100 * ($1 - was) / t, $2, $3); was = $1 } END { print said }'
done
kill -INT "$recorder"
wait "$recorder" || :
recorder=
find "$dir" -name "p.*" | wc -l | sed 's/$/ profiles/'
awk -v t=$((seconds / 12 * 12)) 'NR == 2 { early = $2 }
	END { share = 100 * $1 / t; printf "%.2f %% of a CPU in %d s\n", share, t; exit share >= 0.5 || $2 > 1.5 * early }' "$dir/looks"
