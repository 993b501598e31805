#!/usr/bin/env bash
# Runs all checks. As root it installs what they need, with apt-get, and where
# this machine's kernel lets perf record, a test that is skipped has failed.
# The log of each step is kept in .build/test.
set -uo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
logs=.build/test
# Programs below testdata, which ./... passes over.
tools=$(find ./testdata -name '*.go' -exec dirname {} + | sort -u)
rm -rf $logs
mkdir -p $logs
failed=()
# Tests know FlameGraph's script by either name.
export STACKCOLLAPSE_PERF=${STACKCOLLAPSE_PERF:-${STACKCOLLAPSE:-}}

# step NAME COMMAND... runs a check that is no test: good when it succeeds.
step() {
	local name=$1 start=$SECONDS
	shift
	if "$@" >"$logs/$name.log" 2>&1; then
		printf 'ok   %-28s %4ds\n' "$name" $((SECONDS - start))
	else
		failed+=("$name")
		printf 'FAIL %-28s %4ds\n' "$name" $((SECONDS - start))
		sed 's/^/    /' "$logs/$name.log"
	fi
}

# tests NAME COMMAND... runs tests that print JSON.
tests() {
	local name=$1 start=$SECONDS result=ok
	shift
	"$@" >"$logs/$name.json" 2>&1 || result=FAIL
	printf '%-4s %-28s %4ds  %s\n' $result "$name" $((SECONDS - start)) \
		"$(.build/tally "$logs/$name.json" | tail -n 1)"
	[ $result = ok ] || failed+=("$name")
}

# gotests NAME PACKAGES FLAG... runs tests, and those that fail a second time,
# each alone: tally says what to make of it.
gotests() {
	local name=$1 packages=$2 failures package test
	shift 2
	tests "$name" go test -json -count=1 "$@" $packages
	[[ ${failed[*]: -1} == "$name" ]] || return 0
	failures=$(.build/tally -failed "$logs/$name.json")
	[ -n "$failures" ] || return 0
	unset 'failed[-1]'
	sed 's/^/     again: /' <<<"$failures"
	while read -r package test; do
		go test -json -count=1 "$@" -run "^$test\$" "$package"
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

install_needs() {
	local missing=()
	find_perf || missing+=(perf)
	for program in gcc g++ clang++ ld objcopy perl git dwz xz zstd; do
		have $program || missing+=($program)
	done
	find_browser || missing+=(chromium)
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ] || ! have apt-get; then
		echo "note: the tests that need ${missing[*]} will be skipped"
		return
	fi
	local packages=(gcc g++ clang libc6-dev binutils perl git dwz xz-utils zstd ca-certificates)
	apt-get update -q
	if apt-cache show linux-perf >/dev/null 2>&1; then
		packages+=(linux-perf)
	else
		packages+=(linux-tools-generic)
	fi
	# Ubuntu has it as a snap only.
	find_browser || ! apt-cache show chromium >/dev/null 2>&1 || packages+=(chromium)
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"
	find_perf
}

# Viewers of profiles, whose own code reads what kprof writes for them.
install_viewers() {
	have npm && npm install --prefix .build/viewers --no-save --no-audit --no-fund --ignore-scripts \
		--prefer-offline --fetch-retries=0 speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 ||
		echo "note: the tests that need them will be skipped"
}

# The tests find what they compare with in perf, so that they may be required
# to run depends on perf, not on kprof.
can_record() {
	[ "$(id -u)" = 0 ] && find_perf &&
		perf record -q -a -g -e cpu-clock -o .build/can-record.data -- true &&
		rm -f .build/can-record.data
}

# Packages that start goroutines or lock.
concurrent() {
	grep -lE '^\s*go (func|[a-z])|\.Go\(|^\s*"sync(/atomic)?"$' --include='*.go' -r . |
		grep -vE '_test\.go$|/testdata/' | xargs -n 1 dirname | sed 's/^\./kprof/' | sort -u
}

# without NAME... leaves out lines that are one of the names.
without() { grep -vxF "$(printf '%s\n' "$@")"; }

gofmt_clean() {
	local unformatted
	unformatted=$(gofmt -l $(find . -name '*.go' -not -path './.build/*'))
	[ -z "$unformatted" ] || { echo "not formatted as gofmt does: $unformatted"; return 1; }
}

have go || { echo "there is no go command in PATH"; exit 1; }
step install install_needs
step install-viewers install_viewers
# Kernels are downloaded while the rest is built.
testdata/rig.sh -install >"$logs/install-guests.log" 2>&1 &
find_perf
if [ "$(id -u)" = 0 ] && [ ! -e /sys/kernel/tracing/events ]; then
	step mount-tracefs mount -t tracefs tracefs /sys/kernel/tracing
fi
strict=()
least=$(awk '$1 == "anywhere" { print $2 }' testdata/min-tests)
if [ "${CI:-}" = true ] || can_record >/dev/null 2>&1; then
	export KPROF_LIVE=require
	strict=(-may-skip testdata/may-skip)
	least=$(awk '$1 == "live" { print $2 }' testdata/min-tests)
	echo "live tests: required"
else
	echo "live tests: skipped where they cannot run (to record takes root and perf)"
fi

step build-amd64 env CGO_ENABLED=0 GOARCH=amd64 go build -o /dev/null ./cmd/kprof
step build-arm64 env CGO_ENABLED=0 GOARCH=arm64 go vet ./...
step build-arm64-binary env CGO_ENABLED=0 GOARCH=arm64 go build -o /dev/null ./cmd/kprof
step tally go build -o .build/tally ./testdata/tally
step gofmt gofmt_clean
step vet go vet ./... $tools
step staticcheck go tool staticcheck ./... $tools
# Tests that watch the whole machine: one package at a time. On Linux (6.18) a
# recorder that asks for build ids, as perf record --buildid-mmap does, makes the
# maps in the rings of older ones look as if they had some, at which perf 6.1
# aborts (misc is not restored after an event, kernel/events/core.c,
# perf_event_mmap_output).
live="kprof/cmd/kprof kprof/perfevent kprof/perfevent/tracefs kprof/record"
gotests live "$live" -p 1
gotests unit "$(go list ./... | without $live) ./testdata/tally"
if have gcc; then
	gotests race-live "kprof/perfevent kprof/record" -race -short -p 1
	# Without those that mostly wait for perf, or do one thing a thousand times.
	gotests race "$(concurrent | without $live)" -race -short \
		-skip='^(TestNamesOfPerfScript|TestScriptLive|TestTruncated|TestWriterPerf|TestWriterKilledPerf|TestHeaderOfPerf|TestFeaturesOfPerf|TestCapsuleRoundTrip)$'
	# The command starts few goroutines of its own.
	gotests race-cmd kprof/cmd/kprof -race -short -run='^TestScript$/^anywhere$/^(html|input)$|^TestDamaged$'
else
	echo "skip race: there is no gcc"
fi
wait
tests guests testdata/rig.sh -json
guests=$(.build/tally -failed "$logs/guests.json" | sed -nE 's/^[^ ]*@([^ ]*) .*/\1/p' | sort -u)
if [ -n "$guests" ]; then
	echo "     again:" $guests
	testdata/rig.sh -json $guests >"$logs/guests.again.json" 2>&1
	unset 'failed[-1]'
fi
# The guests' kernels are real boot images.
KPROF_BOOT_IMAGES="$PWD/.build/rig/cache/linux-image-*/vmlinuz" \
	gotests images kprof/symbolize/elfsym -run='^TestRealBootImages$'
tests fuzz testdata/fuzz.sh 1s -json

echo
.build/tally ${strict[@]+"${strict[@]}"} -min "$least" $logs/*.json || failed+=(tests)
if [ ${#failed[@]} -gt 0 ]; then
	echo "failed: ${failed[*]}" >&2
	exit 1
fi
