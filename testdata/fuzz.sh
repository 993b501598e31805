#!/usr/bin/env bash
# Usage: fuzz.sh TIME [FLAG...]
# Runs every fuzz target of the project for TIME, with further flags of go test.
# An input that fails is kept: packed into testdata/fuzz/TARGET.txtar of its package,
# from where fuzztest.Add takes it; with -json in the folder testdata/fuzz/TARGET, from
# where go test takes it.
set -uo pipefail
cd "$(dirname "$0")/.."
time=$1
shift
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz PACKAGE TARGET FLAG... runs one target. Go now and then fails one whose time
# is over, "context deadline exceeded", without an input that fails: that is run
# again.
fuzz() {
	local package=$1 target=$2
	shift 2
	go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$@" "$package" >"$log" 2>&1 && cat "$log" && return
	if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
		go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$@" "$package"
		return
	fi
	cat "$log"
	return 1
}
package=
targets=()
# go test -list prints the targets of a package, then "ok PACKAGE TIME".
while read -r word rest; do
	case $word in
	Fuzz*) targets+=("$word") ;;
	ok)
		package=${rest%%[[:space:]]*}
		for target in ${targets[@]+"${targets[@]}"}; do
			fuzz "$package" "$target" "$@" || failed=1
		done
		targets=()
		;;
	'?' | '') ;;
	*)
		echo "fuzz.sh: $word $rest" >&2
		failed=1
		;;
	esac
done < <(go test -list='^Fuzz' ./... </dev/null)
case " $* " in
*' -json '*) ;;
*) go run ./testdata/fuzzpack $(find . -path '*/testdata/fuzz' -not -path './.build/*' -printf '%h/..\n') || failed=1 ;;
esac
exit $failed
