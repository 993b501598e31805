#!/usr/bin/env bash
# Usage: soak.sh [-n ROUNDS] [-t SECONDS] [-j LANES] [-only TESTS] [-fresh] [-keep] [CONDITION...]
#        soak.sh -table
#
# Runs the tests that record or open a browser, again and again, under conditions
# in which a test that relies on luck fails. Without CONDITION it runs 50 rounds
# of idle and 20 of each other, or ROUNDS of each:
#
#   idle         nothing else, as far as this script knows: all tests of a package in one
#                process (of the command in two), four at a time, about as in make test
#   load         programs on all CPUs: computing, and starting others
#   one-cpu      on one CPU alone (taskset)
#   half-cpu     in a control group with half a CPU
#   gomaxprocs   with GOMAXPROCS=1
#   nice         with nice 19
#   recorders    while another kprof and perf record the machine
#
# Each result is added to .build/soak/totals (condition, round, package, test,
# result, seconds), and what is there is not run again: interrupted, it goes on
# where it was. -t SECONDS starts nothing new after so long; -only TESTS is a
# regular expression of tests, -fresh forgets the totals, -table only prints
# them. -keep adds to testdata/soaked what this run did under each condition (date,
# commit, condition, tests run, failed), which is how days and machines add up. It
# ends with a table of failures by test, and fails if there are any; the output of
# each is in .build/soak/failed. It takes root, perf, gcc and what else the tests need.
set -uo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
dir=$PWD/.build/soak
totals=$dir/totals
all=(idle load one-cpu half-cpu gomaxprocs nice recorders)
rounds= seconds=0 lanes=1 only=. table= keep=
while [ $# -gt 0 ]; do
	case $1 in
	-n) rounds=$2 && shift ;;
	-t) seconds=$2 && shift ;;
	-j) lanes=$2 && shift ;;
	-only) only=$2 && shift ;;
	-fresh) rm -rf "$totals" "$dir/failed" ;;
	-keep) keep=1 ;;
	-table) table=1 ;;
	-*) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0" && exit 2 ;;
	*) break ;;
	esac
	shift
done
conditions=("$@")
[ $# -gt 0 ] || conditions=("${all[@]}")
for c in "${conditions[@]}"; do
	case " ${all[*]} " in *" $c "*) ;; *) echo "soak: no condition $c; there are ${all[*]}" >&2 && exit 2 ;; esac
done
mkdir -p "$dir/failed"
touch "$totals"

# print_table prints how often each test ran under each condition, and each test
# that failed.
print_table() {
	awk -F'\t' -v names="${all[*]}" '
		BEGIN { n = split(names, name, " ") }
		{ key = $1; if ($2 > round[key]) round[key] = $2; runs[key]++; if ($5 == "skip") skips[key]++ }
		$5 == "fail" { failed[$3 " " $4]++; by[$3 " " $4, $1]++; all[$1]++; failures++ }
		function row(title, values,   i, line) {
			line = sprintf("%-44s", title)
			for (i = 1; i <= n; i++) line = line sprintf(" %10s", values[name[i]] + 0)
			print line
		}
		END {
			line = sprintf("%-44s", "")
			for (i = 1; i <= n; i++) line = line sprintf(" %10s", name[i])
			print line
			row("rounds begun", round); row("tests run", runs); row("skipped", skips); row("failed", all)
			for (test in failed) {
				line = sprintf("%-44s", "  " test)
				for (i = 1; i <= n; i++) line = line sprintf(" %10s", by[test, name[i]] + 0)
				print line | "sort"
			}
			close("sort")
			exit failures > 0
		}' "$totals"
}
if [ -n "$table" ]; then
	print_table
	exit
fi

# The tests: package, and which of its tests.
packages=(
	'cmd/kprof ^Test(Live|EndToEnd|ScriptFold|HiddenKernel|View|TopicExamples|RecordToPipe|RecordingsArePrivate|OutputInSharedDirectory)'
	'perfevent ^TestLive'
	'perfevent/event ^Test(Live|Overhead|Kprobe|Probe|Uprobe|USDT)'
	'perfevent/count ^Test(Live|Uprobe)'
	'convert/listing ^TestPerfScript$'
	'perfevent/tracefs ^Test'
	'record ^Test(Live|Launch|Synthesize|Record|Kprobe|Refus|Host|ReadHostPerf)'
	'record/synth ^Test(Describe|BuildID)'
	'record/datafile ^TestLive'
	'record/doctor ^TestLive'
	'record/marker ^TestLive'
	'record/symbols ^Test(Unchanged|Kernel|PerfMapOfContainerGone)'
	'record/tracer ^TestLive'
	'perfevent/perfdata ^Test(Writer|HeaderOfPerf|FeaturesOfPerf|BuildIDsOfPerf|Live)'
	'convert/live ^Test'
	'convert/replay ^TestScriptLive$'
	'convert/browsertest ^TestTabAgain$'
	'convert/page ^TestHTML(InBrowser|OnAPhone|OfLittle|EqualsPprof)'
	'convert/flamegraph ^Test(SVG(Drawn|Image|Zoom|Keyboard|Search|Hostile)|DiffSVG)'
	'convert/viewer ^Test.*Opens'
	'convert/pprof ^TestToolUI$'
	'symbolize ^Test(NamesOfPerfScript|SymbolsApart)$'
	'symbolize/kallsyms ^TestAliasesAsPerf$'
)
# Built anew when the code or this script is.
if [ ! -e "$dir/kprof" ] || [ -n "$(find . -path ./.build -prune -o \( -name '*.go' -o -name go.mod -o -name soak.sh \) -newer "$dir/kprof" -print -quit)" ]; then
	for p in "${packages[@]}"; do
		read -r package match <<<"$p"
		go test -c -ldflags=-w -o "$dir/${package//\//-}.test" "./$package" || exit 1
	done
	go build -o "$dir/kprof" ./cmd/kprof || exit 1
	touch "$dir/kprof"
fi
SECONDS=0
taken=$dir/taken # a directory for each test that a lane has taken
rm -rf "$taken" && mkdir "$taken"
before=$(wc -l <"$totals")
tests=() # "PACKAGE TEST"
for p in "${packages[@]}"; do
	read -r package match <<<"$p"
	while read -r test; do
		[[ $test =~ ^Test ]] && [[ $test =~ $only ]] && tests+=("$package $test")
	done < <(cd "$package" && "$dir/${package//\//-}.test" -test.list "$match")
done
# The others of these scripts record nothing.
[[ TestScript =~ $only ]] && tests+=("cmd/kprof TestScript/live")

# Tests for which others wait come behind the others of some rounds: where the former begin, all wait
# for what takes longest of the latter.
alone=$(testdata/alone.sh)
together=4

# What runs beside the tests: killed as one group each.
beside=()
start_beside() {
	setsid "$@" >/dev/null 2>&1 &
	beside+=($!)
}
stop_beside() {
	local p
	for p in ${beside[@]+"${beside[@]}"}; do
		kill -- "-$p" 2>/dev/null
		wait "$p" 2>/dev/null
		# perf may hang as it ends: it opens all that is mapped, pipes too.
		sleep 1
		kill -KILL -- "-$p" 2>/dev/null
	done
	beside=()
}
# keep_totals adds what this run did to the file that is kept.
keep_totals() {
	tail -n +$((before + 1)) "$totals" | awk -F'\t' -v date="$(date -u +%F)" -v commit="$(git rev-parse --short HEAD)" '
		$5 != "skip" { ran[$1]++; failed[$1] += $5 == "fail" }
		END { for (c in ran) printf "%s\t%s\t%s\t%d\t%d\n", date, commit, c, ran[c], failed[c] }' | sort >>testdata/soaked
}
running=() # lanes
cleanup() {
	stop_beside
	[ -z "$keep" ] || keep_totals
	rm -rf "$taken"
}
trap cleanup EXIT
trap 'kill ${running[@]+"${running[@]}"} 2>/dev/null; wait ${running[@]+"${running[@]}"}; exit 130' INT TERM

# half_cpu makes a control group with half a CPU, and sets group to its directory.
half_cpu() {
	local root name=kprof-soak-$BASHPID
	for root in /sys/fs/cgroup/cpu,cpuacct /sys/fs/cgroup/cpu; do
		[ -e $root/cpu.cfs_quota_us ] || continue
		mkdir $root/$name && group=$root/$name &&
			echo 100000 >$group/cpu.cfs_period_us && echo 50000 >$group/cpu.cfs_quota_us
		return
	done
	root=/sys/fs/cgroup
	{ echo +cpu >$root/cgroup.subtree_control; } 2>/dev/null
	mkdir $root/$name && group=$root/$name && echo '50000 100000' >$group/cpu.max
}

# begin CONDITION starts what runs beside the tests.
begin() {
	local i
	case $1 in
	load)
		for ((i = $(nproc); i > 0; i--)); do
			start_beside sh -c 'while :; do :; done'
			start_beside sh -c 'while :; do head -c 100000 /dev/zero | cksum; done'
		done
		;;
	recorders)
		start_beside sh -c "while :; do '$dir/kprof' record -q -a -d 5s -o '$dir/beside.pb.gz' || sleep 1; done"
		start_beside sh -c "while :; do perf record -q -a -g -e cpu-clock -o '$dir/beside.data' -- sleep 5 || sleep 1; done"
		;;
	esac
}

# set_prefix CONDITION LANE sets prefix to what the tests of a lane are run with.
set_prefix() {
	local cpus i last
	prefix=()
	case $1 in
	one-cpu)
		# The last one, which is not CPU 0 where there are several; of another lane the one before.
		cpus=($(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , '\n' | while IFS=- read -r i last; do seq $i ${last:-$i}; done))
		# A test in another lane may have taken it offline.
		prefix=(sh -c 'until taskset -pc "$0" $$ >/dev/null 2>&1; do sleep 0.2; done; exec "$@"' "${cpus[-1 - $2 % ${#cpus[@]}]}")
		;;
	half-cpu)
		half_cpu || { echo "soak: no control group with a limit of CPU time can be made here" >&2 && return 1; }
		prefix=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
		;;
	gomaxprocs) prefix=(env GOMAXPROCS=1) ;;
	nice) prefix=(nice -n 19) ;;
	esac
}

# run CONDITION ROUND PACKAGE TEST... runs tests of a package and adds their results.
run() {
	local condition=$1 round=$2 package=$3 program=$dir/${3//\//-}.test match status results
	shift 3
	local log=$dir/failed/$condition-$round-${package//\//-}-${1//\//-}.log
	match=$(IFS='|' && echo "^($*)\$")
	(cd "$package" && KPROF_LIVE=require ${prefix[@]+"${prefix[@]}"} "$program" -test.v -test.timeout=40m -test.run="${match//\//)\$/^(}") >"$log" 2>&1
	status=$?
	# Ended by a signal, it says nothing: it was this script that was interrupted.
	[ $status -lt 129 ] || [ $status -gt 160 ] || grep -q '^panic\|--- FAIL' "$log" || exit $status
	# Of a part of a test the line is that of the test. What was running when all failed has
	# failed, and what did not run then has no result, and is run again.
	results=$(awk -F'[ :()]+' -v OFS='\t' -v condition="$condition" -v round="$round" -v package="$package" -v part="$1" -v status=$status '
		function add(test, result, seconds) { print condition, round, package, part ~ "/" ? part : test, result, seconds }
		/^=== RUN / && $3 !~ "/" { last = $3 }
		/^--- (PASS|FAIL|SKIP): / { add($3, tolower($2), int($4 + 0.5)); failed += $2 == "FAIL" }
		END { if (status != 0 && !failed) add(last, "fail", 0) }' "$log")
	[ -z "$results" ] || printf '%s\n' "$results" >>"$totals"
	if [ $status = 0 ]; then
		rm "$log"
	else
		echo "soak: $condition, round $round: $(awk -F'\t' '$5 == "fail" { print $4 }' <<<"$results" | paste -s -d ' ') failed: $log" >&2
	fi
}

# each CONDITION OP prints what is run in one process, in any order, so that not all lanes wait, or
# all compute, at a time: a test, or where nothing else runs about what go test does in make test.
# OP is ~ for the tests for which others wait, and !~ for the others.
each() {
	printf '%s\n' "${tests[@]}" | awk -v alone="$alone" "\$2 $2 alone" | if [ "$1" = idle ]; then
		awk '$2 ~ "/" { print; next } { key = $1 ($1 == "cmd/kprof" && $2 ~ /^TestLive[A-O]/); name[key] = $1; of[key] = of[key] " " $2 } END { for (k in of) print name[k] of[k] }'
	else
		cat
	fi | shuf
}

# lane CONDITION LANE, a shell of its own, runs the tests that have not run yet and that no
# other lane has taken.
lane() {
	local n=${rounds:-$([ "$1" = idle ] && echo 50 || echo 20)} op first round package names test left
	group=
	trap 'exit 130' INT TERM
	trap '[ -z "$group" ] || { sleep 0.1 && rmdir "$group"; }' EXIT
	set_prefix "$1" "$2" || return
	for ((first = 1; first <= n; first += together)); do
		for op in '!~' '~'; do
			for ((round = first; round <= n && round < first + together; round++)); do
				while read -r package names; do
					[ "$seconds" = 0 ] || [ $SECONDS -lt "$seconds" ] || break 4
					left=()
					for test in $names; do
						mkdir "$taken/$1 $round ${package//\//-} ${test//\//-}" 2>/dev/null || continue
						grep -qF "$(printf '%s\t%s\t%s\t%s\t' "$1" $round "$package" "$test")" "$totals" || left+=("$test")
					done
					[ ${#left[@]} = 0 ] || run "$1" $round "$package" "${left[@]}" </dev/null
				done < <(each "$1" "$op")
			done
		done
	done
}

export PATH=$PWD/.build/bin:$PATH
for condition in "${conditions[@]}"; do
	begin "$condition"
	running=()
	for ((i = 0; i < ($([ "$condition" = idle ] && echo 4 || echo "$lanes")); i++)); do
		(lane "$condition" $i) &
		running+=($!)
	done
	wait "${running[@]}"
	stop_beside
done
print_table
