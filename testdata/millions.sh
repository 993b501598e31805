#!/usr/bin/env bash
# Usage: millions.sh [-n RUNS] [-only WORDS] KPROF
#
# Has kprof, and perf beside it, record raw_syscalls:sys_enter of the whole machine with
# their default options while two dd make two million system calls each: to a file and
# live, without callchains and with, on a machine that does nothing else and beside two
# programs a CPU that compute. It prints a line for each, of RUNS runs (10): in how many
# nothing was lost, the worst, the CPU time of the recorder and its peak of memory, each
# the median. -only runs those whose line contains all of WORDS, as "kprof live busy". It
# takes root, and half a minute for a run of all.
#
# Without -only it fails if kprof lost anything.
set -euo pipefail
runs=10 only=
while [ $# -gt 1 ]; do
	case $1 in
	-n) runs=$2 && shift 2 ;;
	-only) only=$2 && shift 2 ;;
	*) break ;;
	esac
done
[ $# = 1 ] || { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0" && exit 2; }
kprof=$(realpath "$1")
dir=$(mktemp -d)
beside=()
stop_beside() {
	local p
	for p in ${beside[@]+"${beside[@]}"}; do
		kill "$p" 2>/dev/null || :
		wait "$p" 2>/dev/null || :
	done
	beside=()
}
trap 'stop_beside; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

cat >"$dir/load" <<'END'
dd if=/dev/zero of=/dev/null bs=1 count=1000000 2>/dev/null &
dd if=/dev/zero of=/dev/null bs=1 count=1000000 2>/dev/null &
wait
times
END
# seconds adds up times as "1m2.3s".
seconds() { awk '{ for (i = 1; i <= NF; i++) { split($i, t, /[ms]/); s += 60*t[1] + t[2] } } END { printf "%.2f", s }'; }

# one RECORDER... records once, and prints what was lost, CPU seconds and MB.
one() {
	local TIMEFORMAT='%U %S' spent
	rm -f "$dir"/out.*
	/usr/bin/time -f '%U %S %M' -o "$dir/time" "$@" -- sh "$dir/load" >"$dir/times" 2>"$dir/said" ||
		{ cat "$dir/said" >&2; return 1; }
	spent=$(tail -n 1 "$dir/times" | seconds) # of dd, which are children of the recorder
	awk -v lost="$(lost)" -v theirs="$spent" '{ printf "%d %.2f %.0f\n", lost, $1 + $2 - theirs, $3/1024 }' "$dir/time"
}

# lost prints how many records were lost, by what the recorder said.
lost() {
	if [ -e "$dir/out.perf" ]; then
		perf report -i "$dir/out.perf" --stats 2>/dev/null | awk '/LOST_SAMPLES events:/ { next } /LOST events:/ { n = $3 } END { print n + 0 }' >"$dir/events"
		# As many LOST records; what each of them counts:
		perf script -i "$dir/out.perf" --show-lost-events -F comm 2>/dev/null | awk '/PERF_RECORD_LOST/ { n += $NF } END { print n + 0 }'
		return
	fi
	sed -nE 's/.* lost ([0-9]+) .*/\1/p; s/^kprof: ([0-9]+) records? were lost.*/\1/p' "$dir/said" | awk '{ n += $1 } END { print n + 0 }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR+1)/2)] }'; }

failed=
printf '%-32s %10s %10s %8s %6s\n' '' 'without' 'most lost' 'CPU' 'MB'
for machine in quiet busy; do
	for chains in none chains; do
		for what in 'kprof file' 'kprof live' 'perf file'; do
			name="$what $chains $machine"
			for word in $only; do
				[[ " $name " == *" $word "* ]] || continue 2
			done
			case $what in
			kprof*)
				recorder=("$kprof" record -a -e raw_syscalls:sys_enter)
				[ $chains = chains ] || recorder+=(--call-graph none)
				if [ "$what" = 'kprof file' ]; then recorder+=(-o "$dir/out.data"); else recorder+=(-o "$dir/out.folded"); fi
				;;
			perf*)
				recorder=(perf record -a -e raw_syscalls:sys_enter -o "$dir/out.perf")
				[ $chains = none ] || recorder+=(-g)
				;;
			esac
			if [ $machine = busy ]; then
				for ((i = 2 * $(nproc); i > 0; i--)); do
					sh -c 'while :; do :; done' &
					beside+=($!)
				done
			fi
			: >"$dir/results"
			for ((run = 0; run < runs; run++)); do
				one "${recorder[@]}" >>"$dir/results"
			done
			stop_beside
			none=$(awk '$1 == 0 { n++ } END { print n + 0 }' "$dir/results")
			most=$(cut -d' ' -f1 "$dir/results" | sort -n | tail -n 1)
			cpu=$(cut -d' ' -f2 "$dir/results" | median) mb=$(cut -d' ' -f3 "$dir/results" | median)
			printf '%-32s %10s %10d %7.2fs %6d\n' "$name" "$none of $runs" "$most" "$cpu" "$mb"
			[[ $what == perf* ]] || [ "$none" = "$runs" ] || failed=1
		done
	done
done
[ -z "$failed" ]
