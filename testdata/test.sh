#!/usr/bin/env bash
# Usage: test.sh [-v] [-all]
#        test.sh [-v] -check
#
# Checks that all is right on this machine. As root it installs what the tests need, with
# apt-get, and where this machine's kernel lets perf record, a test that is skipped has
# failed. What watches the machine runs in three rows; beside it, at a lower
# priority, runs what only computes. A test that fails is run again, alone; those of
# testdata/may-retry may need that, of others it is told, and three may at most; with
# CI=true none but in emulated machines.
#
# -all checks also that it is right elsewhere, and stays so: what is wrong by its text alone,
# the tests in virtual machines with other kernels, on 32 bits and under the race detector,
# what other systems compile, fuzzing for a moment, and Debian's packages.
#
# -check installs nothing, and runs what needs nothing but Go: build, vet, and the
# tests that do not record, compile or open a browser. -v lists the tests that
# were skipped. The log of each step is kept in .build/test.
#
# Each step has a time limit; one that is cut off has failed, by its name and those of
# the tests that were running. All of it takes 75 minutes at most.
set -uo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
logs=.build/test
# What is compiled in one clone serves in the next; and without C the command and all tests
# share what is compiled, but for those under the race detector, which needs C.
export GOFLAGS="${GOFLAGS:-} -trimpath" CGO_ENABLED=0
# Programs below testdata, which ./... passes over.
tools=$(find ./testdata -name '*.go' -exec dirname {} + | sort -u)
tools_tested='./testdata/tally ./testdata/module ./testdata/platforms'
rm -rf $logs
mkdir -p $logs
: >$logs/failed # names of steps
# Tests know FlameGraph's script by either name.
export STACKCOLLAPSE_PERF=${STACKCOLLAPSE_PERF:-${STACKCOLLAPSE:-}}
check= all= verbose=()
while [ $# -gt 0 ]; do
	case $1 in
	-check) check=1 ;;
	-all) all=1 ;;
	-v) verbose=(-v) ;;
	*) echo "usage: test.sh [-v] [-check | -all]" >&2 && exit 2 ;;
	esac
	shift
done

failed() { echo "$1" >>$logs/failed; }

# All is over at this second.
deadline=4500

# limited SECONDS COMMAND... runs a command, or a function in a shell of its own, for as
# long at most, and while there is time at all. What is cut off is asked to end by
# $cut_by, for which a test prints what each of its goroutines does, and is killed soon.
cut_by=TERM
limited() {
	local limit=$1 left=$((deadline - SECONDS)) status=0
	shift
	[ "$limit" -lt $left ] || limit=$left
	[ "$limit" -gt 0 ] || { echo "not run: there is no time left"; return 124; }
	[ "$(type -t "$1")" != function ] || set -- bash -c "$(declare -f); \"\$@\"" bash "$@"
	timeout -s $cut_by -k 20 "$limit" "$@" || status=$?
	# It is 137 where it had to be killed.
	[ $status != 124 ] && [ $status != 137 ] || echo "cut off after $limit s"
	return $status
}

# used sets cpu to the seconds of CPU that the programs took that this shell has waited for.
used() {
	local file=$logs/times.$BASHPID
	times >"$file"
	cpu=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' "$file")
}

# report RESULT NAME START CPU [TEXT] prints what became of a step that began at a second,
# when so much of the CPUs had been used.
report() {
	local cpu
	used
	printf '%-4s %-16s %4d s %4d s of CPU  %s\n' "$1" "$2" $((SECONDS - $3)) $((cpu - $4)) "${5-}"
}

# step NAME SECONDS COMMAND... runs a check that is no test: good when it succeeds in
# time.
step() {
	local name=$1 start=$SECONDS cpu
	used
	shift
	if limited "$@" >"$logs/$name.log" 2>&1; then
		report ok "$name" $start $cpu
	else
		failed "$name"
		report FAIL "$name" $start $cpu "$(tail -n 1 "$logs/$name.log")"
	fi
}

# tests NAME SECONDS COMMAND... runs tests that print JSON, and fails if they do.
tests() {
	local name=$1 start=$SECONDS result=ok cpu
	used
	shift
	limited "$@" >"$logs/$name.json" 2>&1 || result=FAIL
	report $result "$name" $start $cpu "$(.build/tally "$logs/$name.json" | tail -n 1)"
	[ $result = ok ]
}

# Most tests have a small heap, and the garbage collector would take half of their time, and a
# quarter of that of vet and staticcheck. What is about memory does not heed it, nor does kprof
# where the command's tests run it.
patient="env GOGC=400"

# compile compiles packages and their tests in that patience, for those that run without it;
# they are linked when they run.
compile="$patient go list -export -test -deps"

# test_flags are those of every go test: go vet is a step of its own, and without what debuggers read a
# program is linked in two thirds of the time.
test_flags="-count=1 -vet=off -ldflags=-w"

# gotests NAME SECONDS PACKAGES FLAG... runs tests, and those that fail a second time,
# each alone: tally says what to make of it.
gotests() {
	local name=$1 limit=$2 packages=$3 failures package test end
	shift 3
	# A package that takes as long says itself which of its tests is running.
	cut_by=QUIT tests "$name" "$limit" $patient go test -json $test_flags -timeout $((limit - 20))s "$@" $packages && return
	failures=$(.build/tally -failed "$logs/$name.json")
	[ -n "$failures" ] || { failed "$name" && return; }
	[ -z "$check" ] || return
	sed 's/^/     again: /' <<<"$failures"
	end=$((SECONDS + 300))
	while read -r package test; do
		cut_by=QUIT limited $((end - SECONDS)) $patient go test -json $test_flags "$@" -run "^$test\$" "./$package"
	done <<<"$failures" >"$logs/$name.again.json" 2>&1
}

have() { command -v "$1" >/dev/null; }

# Ubuntu's perf is a script that looks for the one of the running kernel; any
# of them will do.
find_perf() {
	local p
	perf --version >/dev/null 2>&1 && return
	for p in /usr/lib/linux-tools*/*/perf /usr/lib/linux-tools*/perf; do
		[ -x "$p" ] || continue
		mkdir -p .build/bin
		ln -sf "$p" .build/bin/perf
		PATH=$PWD/.build/bin:$PATH
		return
	done
	return 1
}

# Chromium, by the names that the tests know.
find_browser() {
	have chromium || have chromium-browser || have google-chrome || have google-chrome-stable || have chrome
}

# Whether programs of 32 bits can be built, where they can run.
makes_narrow() {
	[ "$(uname -m)" != x86_64 ] || echo 'int main(void) { return 0; }' | gcc -m32 -x c -o /dev/null - 2>/dev/null
}

# runs_narrow succeeds where programs of 32 bits run: it runs one of i386 that does nothing but
# exit, an ELF header, one segment and "mov $1, %eax; xor %ebx, %ebx; int $0x80".
runs_narrow() {
	local program=$logs/exit32
	printf "$(sed 's/../\\x&/g' <<<7f454c46010101000000000000000000020003000100000054000100340000000000000000000000340020000100280000000000010000000000000000000100000001005d0000005d0000000500000000100000b80100000031dbcd80)" >"$program" && chmod +x "$program" && "$program" 2>/dev/null
}

install_needs() {
	local missing=()
	find_perf || missing+=(perf)
	for program in gcc g++ clang++ ld objcopy perl git dwz xz zstd zsh fish trace-cmd; do
		have $program || missing+=($program)
	done
	find_browser || missing+=(chromium)
	have firefox || missing+=(firefox-esr)
	makes_narrow || missing+=(gcc-multilib)
	have musl-gcc || missing+=(musl-gcc)
	[ -e /usr/share/bash-completion/bash_completion ] || missing+=(bash-completion)
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] || ! have apt-get; then
		echo "note: the tests that need ${missing[*]} will be skipped"
		return
	fi
	local packages=(gcc g++ clang libc6-dev binutils perl git dwz xz-utils zstd ca-certificates zsh fish bash-completion trace-cmd)
	apt-get update -q
	if apt-cache show linux-perf >/dev/null 2>&1; then
		packages+=(linux-perf)
	else
		packages+=(linux-tools-generic)
	fi
	# Ubuntu has it as a snap only.
	find_browser || ! apt-cache show chromium >/dev/null 2>&1 || packages+=(chromium)
	have firefox || ! apt-cache show firefox-esr >/dev/null 2>&1 || packages+=(firefox-esr)
	makes_narrow || packages+=(gcc-multilib)
	have musl-gcc || packages+=(musl-tools)
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"
	find_perf
}

# Viewers of profiles, whose own code reads what kprof writes for them, and what finds in
# pages what not everybody can use, and in their scripts what has another type.
install_viewers() {
	have npm && npm install --prefix .build/viewers --no-save --no-audit --no-fund --ignore-scripts \
		--prefer-offline --fetch-retries=0 speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 axe-core@4.10.3 typescript@5.9.3 ||
		echo "note: the tests that need them will be skipped"
}

# The tests find what they compare with in perf, so that they may be required
# to run depends on perf, not on kprof.
can_record() {
	[ "$(id -u)" = 0 ] && find_perf &&
		perf record -q -a -g -e cpu-clock -o .build/can-record.data -- true &&
		rm -f .build/can-record.data
}

# Packages that start goroutines or lock, but for those that only tests use.
concurrent() {
	grep -lE '^\s*go (func|[a-z])|\.Go\(|^\s*"sync(/atomic)?"$' --include='*.go' --exclude-dir=.build -r . |
		grep -vE '_test\.go$|/testdata/' | xargs -n 1 dirname | sort -u | without ./convert/browsertest ./perfevent/livetest
}

# packages lists those of the module, by their folders.
packages() { go list -f '.{{slice .ImportPath (len .Module.Path)}}' ./...; }

# without NAME... leaves out lines that are one of the names.
without() { grep -vxF "$(printf '%s\n' "$@")"; }

gofmt_clean() {
	local unformatted
	unformatted=$(gofmt -l $(find . -name '*.go' -not -path './.build/*'))
	[ -z "$unformatted" ] || { echo "not formatted as gofmt does: $unformatted"; return 1; }
}

# reachable PACKAGES finds functions that nothing calls, neither a program nor a test,
# unless they are the interface of a package for others, or of an example that is only
# compiled.
reachable() {
	local unreachable
	unreachable=$(go tool deadcode -test "$@") || return
	unreachable=$(grep -v '/example_[a-z_]*test\.go:' <<<"$unreachable")
	! grep -E '^(cmd|testdata)/|/internal/|/[a-z]+test/|: unreachable func: ([A-Za-z0-9_]+\.)?[a-z_]' <<<"$unreachable"
}

# live is what watches the whole machine, beside the command's tests, which do so too. What cannot
# be beside others that record, or changes the machine, says so itself, by livetest.ChangeMachine.
live="./convert/listing ./convert/live ./perfevent ./perfevent/count ./perfevent/event ./perfevent/tracefs ./record ./record/datafile ./record/doctor ./record/marker ./record/synth"
# raced are those of them that run under the race detector too.
raced="./perfevent ./perfevent/event ./record"
# computing are the command's tests that record nothing, and scripted those that run what scripts and
# topics of the help say, which take about as long as live.
computing='^Test(Architecture|Bombs|CollectLater|CompletionInShells|Damaged|Duration|EvilNamesInFiles|Fits|FleetVerdicts|HostilePaths|Library|Licenses|MergeUnits|OutputsAreAccepted|PackedInput|Portable|ReaderGone|ScriptTextCost|ScriptTextOfDemo|TopLevel|Truncated|View.*)$|^TestScript$/^anywhere$'
scripted='^Test(Script|TopicExamples)$'
# half is what takes half of the time of the command's other tests that record.
half='^TestLive[A-O]'

# run_live runs them in three rows, as they mostly wait, and then those for which others would wait,
# of two packages at a time: some compute when others may go on.
run_live() {
	local rows=() alone
	alone=$(testdata/alone.sh)
	step build-live 600 $compile ./cmd/kprof $live
	(patient= gotests live-cmd 2400 ./cmd/kprof -run="$half" -skip="$computing|$alone") &
	rows+=($!)
	(patient= gotests live-cmd-more 2400 ./cmd/kprof -skip="$computing|$alone|$scripted|$half") &
	rows+=($!)
	(
		patient= gotests live-scripts 1200 ./cmd/kprof -run="$scripted" -skip="$computing"
		patient= gotests live 2400 "$live" -p 1 -skip="$alone"
	) &
	rows+=($!)
	wait "${rows[@]}"
	patient= gotests live-alone 1200 "./cmd/kprof $live" -p 2 -run="$alone"
}

# run_watching is what else wants the machine for itself: the live tests under the race
# detector, and virtual machines.
run_watching() {
	local guests
	if have gcc; then
		CGO_ENABLED=1 step build-race-live 600 $compile -race $raced
		CGO_ENABLED=1 patient= gotests race-live 600 "$raced" -race -short -p 1
	fi
	wait "$kernels"
	tests guests 1500 testdata/rig.sh -json || {
		guests=$(.build/tally -failed "$logs/guests.json" | sed -nE 's/^[^ ]*@([^ ]*) .*/\1/p' | sort -u)
		if [ -n "$guests" ]; then
			echo "     again:" $guests
			limited 1200 testdata/rig.sh -json -share $guests >"$logs/guests.again.json" 2>&1
		else
			failed guests
		fi
	}
	# The guests' kernels are real boot images.
	KPROF_BOOT_IMAGES="$PWD/.build/rig/cache/linux-image-*/vmlinuz" \
		gotests images 300 ./symbolize/elfsym -run='^TestRealBootImages$'
}

# elsewhere lists the packages that are for any system. The others are Linux's.
elsewhere() { packages | grep -vxE './(record(/.*)?|perfevent|perfevent/(event|count|tracefs))'; }

# lengthy are tests that mostly wait for perf, or do one thing a thousand times: once is
# enough.
lengthy='^Test(NamesOfPerfScript|ScriptLive|Truncated|WriterPerf|WriterKilledPerf|HeaderOfPerf|FeaturesOfPerf|BuildIDsOfPerf|KernelSymbolsRoundTrip|BadCompression|Sums|EventSums|ReadsLikeGoogle|Mutated|FromCompressedBombs|ProgramsAgainstAddr2line|Simulate.*)$'

# sequential are tests that take long under the race detector, and in which nothing runs at
# the same time that would not in others: inputs of fuzzing, programs that read what was
# written, pages in a browser, bounds of memory, all recordings where some have each form.
sequential='^(Fuzz.*|Test(FoldedAgainstNaive|RoundTrip|ToolAccepts|ToolUI|PGO|ScriptOf.*|CollectorForgets|Hostile|TooMany.*|Bombs|FeatureTruncated|HeaderOf.*|HeaderSwapped|TracingDataOfPerf|GoFunctions|ZstdBomb|PerfMapCosts|WriteErrors|FoldedReadKeeps|History|PiecesAreWithinLimits|AgainstReadelf|Module|Views|Values|TimeSpan|HTMLInBrowser|HTMLOnAPhone|EveryView|Menu|Save|Accessible|Firefox|Vmlinux|Report|ManyRenamed|ManyPrograms|SymbolsApart|Order|Slices|HTMLOfLittle|Pixels|CompareSave|Strip|TimeBins|WriterKilled|StateBound|FieldsNoAllocation|FieldLabelBounds))$'

# drawing are packages that make pages, pictures and viewers' files of what others have read and
# counted.
drawing='./convert/(browsertest|flamegraph|page|viewer)'

# run_elsewhere checks what must work where there is no Linux, or on 32 bits. What is only
# compiled there is checked from its sources: compiled it is as the command, for macOS, in the
# way in which TestLibrary does so too, and by unit-386.
run_elsewhere() {
	step platforms 300 $patient go build -o .build/platforms ./testdata/platforms
	step vet-arm64 300 .build/platforms linux/arm64 ./...
	step vet-386 300 .build/platforms linux/386 ./...
	step vet-arm 300 .build/platforms linux/arm ./...
	step vet-darwin 300 .build/platforms darwin/arm64 $(elsewhere)
	step vet-windows 300 .build/platforms windows/amd64 $(elsewhere)
	step build-darwin 600 $patient GOOS=darwin GOARCH=arm64 go build -gcflags=all="-N -l" -o /dev/null ./cmd/kprof
	# What is for other systems runs here too, by a tag.
	gotests portable 600 "./symbolize/regular ./symbolize/elfsym" -short -tags portable -skip="$lengthy"
	# Most kernels of x86_64 run programs of 32 bits, but for those of some virtual machines.
	if runs_narrow; then
		# Tests that need nothing but Go; the programs that they build are this machine's.
		step unit-386 1500 $patient KPROF_LIVE=skip GOARCH=386 go test $test_flags -short -skip="$lengthy" -exec 'env -u GOARCH' \
			$(elsewhere | grep -vxE "./cmd/kprof|$drawing")
	else
		echo "skip unit-386: this kernel runs no programs of 32 bits"
	fi
}

# run_here is what only computes.
run_here() {
	local units
	if [ -n "$all" ]; then
		# The tag adds a file.
		step vet 900 $patient go vet -tags manpages ./... $tools
		step staticcheck 1200 $patient go tool staticcheck ./... $tools
		step deadcode 900 reachable ./... $tools
	fi
	(gotests unit 2700 "$(packages | without ./cmd/kprof $live) $tools_tested") &
	units=$!
	# To compile all for other systems is asked for with -all.
	gotests unit-cmd 1500 ./cmd/kprof -run="$computing" $([ -n "$all" ] || echo '-skip=^TestLibrary$/-')
	wait "$units"
}

# run_races looks for data races.
run_races() {
	if have gcc; then
		CGO_ENABLED=1 gotests race 2000 "$(concurrent | without ./cmd/kprof $live)" -race -short -skip="$lengthy|$sequential"
		# The command starts few goroutines of its own.
		CGO_ENABLED=1 gotests race-cmd 600 ./cmd/kprof -race -short -run='^TestScript$/^anywhere$/^(html|input)$|^TestDamaged$'
	else
		echo "skip race: there is no gcc"
	fi
}

# run_computing is what computes: all of it, or what checks this machine alone.
run_computing() {
	run_here
	if [ -n "$all" ]; then
		step build-arm64 600 $patient GOARCH=arm64 go build -o /dev/null ./cmd/kprof
		run_elsewhere
		run_races
	fi
}

# run_last computes too, but begins when nothing watches the machine any more: by then the
# others leave a CPU idle.
run_last() {
	tests fuzz 900 testdata/fuzz.sh 200x -json || [ -n "$(.build/tally -failed "$logs/fuzz.json")" ] || failed fuzz
	if [ "$(id -u)" = 0 ] && have dpkg; then
		step package 900 $patient testdata/package.sh
	fi
}

# finish prints the result: the logs of steps that failed, tally's failures and counts,
# and the names of what failed last, so that the end of a log says all that matters.
finish() {
	local least=$1 name
	shift
	echo
	while read -r name; do
		[ ! -s "$logs/$name.log" ] || printf 'FAIL %s\n%s\n' "$name" "$(tail -n 40 "$logs/$name.log" | sed 's/^/    /')"
	done <$logs/failed
	.build/tally "$@" ${verbose[@]+"${verbose[@]}"} -min "$(awk -v kind="$least" '$1 == kind { print $2 }' testdata/min-tests)" $logs/*.json || failed tests
	if [ -s $logs/failed ]; then
		echo "FAILED after $((SECONDS - begun)) s: $(paste -s -d ' ' $logs/failed)"
		exit 1
	fi
	echo "ok after $((SECONDS - begun)) s${installing:+, and $installing s of installing}"
	exit 0
}

have go || { echo "there is no go command in PATH"; exit 1; }
begun=$SECONDS installing=
if [ -n "$check" ]; then
	export KPROF_LIVE=skip
	step tally 300 go build -o .build/tally ./testdata/tally
	step build 300 go build -o /dev/null ./cmd/kprof
	step gofmt 60 gofmt_clean
	step vet 900 $patient go vet ./... $tools
	# One package more than there are CPUs: the tests of some rather wait.
	gotests unit 1500 "./... $tools_tested" -short -p $(($(nproc) + 1))
	finish check
fi

step install 900 install_needs
step install-viewers 300 install_viewers
if [ -n "$all" ]; then
	# Kernels are downloaded while the rest is built.
	limited 900 nice -n 10 testdata/rig.sh -install >"$logs/install-guests.log" 2>&1 &
	kernels=$!
fi
installing=$((SECONDS - begun)) begun=$SECONDS
find_perf
if [ "$(id -u)" = 0 ] && [ ! -e /sys/kernel/tracing/events ]; then
	step mount-tracefs 60 mount -t tracefs tracefs /sys/kernel/tracing
fi
policy=(-may-retry testdata/may-retry)
least=anywhere
if [ "${CI:-}" = true ] || can_record >/dev/null 2>&1; then
	export KPROF_LIVE=require
	policy+=(-may-skip testdata/may-skip)
	least=$([ -n "$all" ] && echo all || echo live)
	echo "live tests: required"
else
	echo "live tests: skipped where they cannot run (to record takes root and perf)"
fi
[ "${CI:-}" != true ] || policy+=(-steady)

step tally 300 go build -o .build/tally ./testdata/tally
step gofmt 60 gofmt_clean
(renice -n 10 $BASHPID >/dev/null 2>&1; run_computing) &
background=$!
step build-amd64 600 $patient GOARCH=amd64 go build -o /dev/null ./cmd/kprof
run_live
if [ -n "$all" ]; then
	run_watching
	run_last
fi
wait "$background"
finish $least "${policy[@]}"
