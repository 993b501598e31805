#!/usr/bin/env bash
# Prints an expression of the tests for which all others that record have to wait, those that run
# and those that would begin (livetest.ChangeMachine). Together, they make others wait once.
set -euo pipefail
cd "$(dirname "$0")/.."

# callers prints the functions of tests that call one of some (an expression).
callers() {
	awk -v call="(^|[^A-Za-z])($1)\\\\(t" '/^func / { name = $2; sub(/\(.*/, "", name); next } $0 ~ call { print name }' \
		$(find . -name .build -prune -o \( -name '*_test.go' -o -path './perfevent/livetest/*.go' \) -print) | sort -u
}
direct=$(callers ChangeMachine | paste -s -d '|')
echo "^($(callers "ChangeMachine|$direct" | grep '^Test' | paste -s -d '|'))\$"
