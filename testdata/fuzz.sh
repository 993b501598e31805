#!/usr/bin/env bash
# Usage: fuzz.sh TIME [FLAG...]
# Runs every fuzz target of the project for TIME, with further flags of go test.
# An input that fails is kept below testdata/fuzz of its package.
set -uo pipefail
cd "$(dirname "$0")/.."
time=$1
shift
failed=0
package=
targets=()
# go test -list prints the targets of a package, then "ok PACKAGE TIME".
while read -r word rest; do
	case $word in
	Fuzz*) targets+=("$word") ;;
	ok)
		package=${rest%%[[:space:]]*}
		for target in ${targets[@]+"${targets[@]}"}; do
			go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "$@" "$package" || failed=1
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
exit $failed
