#!/usr/bin/env bash
# Usage: fuzz.sh TIME [-json]
# Runs every fuzz target of the project for TIME, which 200x says in inputs.
# An input that fails is kept: packed into testdata/fuzz/TARGET.txtar of its package,
# from where fuzztest.Add takes it.
# -json is for short times: it prints what go test -json would, keeps an input that fails
# in the folder testdata/fuzz/TARGET, from where go test takes it, and does not look for
# inputs that reach new code, for which everything would be compiled once more.
set -uo pipefail
cd "$(dirname "$0")/.."
time=$1 json=${2-}
guided=-fuzz=.
if [ -n "$json" ]; then
	guided=
else
	# Of what is compiled for fuzzing nothing is of use to other tests: without C it is less.
	export CGO_ENABLED=0
fi
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
module=$(go list -m)
cache=$(go env GOCACHE)/fuzz/$module

# run PACKAGE TARGET runs one target of the program of its package, $dir/test.
run() {
	(cd "$1" && "$dir/test" -test.v=test2json -test.timeout=0 -test.run='^$' -test.fuzz="^$2\$" \
		-test.fuzztime="$time" -test.fuzzcachedir="$cache/${1#./}") >"$dir/log" 2>&1
}

# fuzz PACKAGE TARGET runs a target, and prints what came of it. Now and then one fails
# whose time is over, "context deadline exceeded", without an input that fails: that is
# run again.
fuzz() {
	local status=0
	run "$@" || status=$?
	if [ $status != 0 ] && grep -qa 'context deadline exceeded' "$dir/log" && ! grep -qa 'Failing input' "$dir/log"; then
		status=0
		run "$@" || status=$?
	fi
	[ $status = 0 ] || failed=1
	if [ -n "$json" ]; then
		go tool test2json -p "$module/${1#./}" <"$dir/log"
		# A log that ends early says nothing of a failure.
		[ $status = 0 ] || printf '{"Action":"fail","Package":"%s"}\n' "$module/${1#./}"
	else
		tr -d '\026' <"$dir/log"
	fi
}

# To link a program once for all targets of its package takes a third of what go test
# does, which links it for each.
while read -r package; do
	if ! GOGC=400 go test -c -ldflags=-w $guided -o "$dir/test" "$package" >"$dir/log" 2>&1; then
		cat "$dir/log"
		failed=1
		continue
	fi
	for target in $("$dir/test" -test.list='^Fuzz'); do
		fuzz "$package" "$target"
	done
done < <(grep -rl --include='*_test.go' --exclude-dir=.build '^func Fuzz' . | xargs -n 1 dirname | sort -u)
[ -n "$json" ] ||
	go run ./testdata/fuzzpack $(find . -path '*/testdata/fuzz' -not -path './.build/*' -printf '%h/..\n') || failed=1
exit $failed
