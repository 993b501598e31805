#!/usr/bin/env bash
# Usage: pushsoak.sh [DURATION]
#
# Sends profiles for DURATION (10m) to a store in which everything goes wrong, from kprof
# push and kprof record --push, which are killed again and again, and prints what became of
# each: it arrived, or is among the losses that are counted. make test does it for some
# seconds, without a recorder. It takes root, or what else may record the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
KPROF_PUSH_SOAK=${1:-10m} exec go test -count=1 -timeout=0 -v -run='^TestPushSoak$' ./cmd/kprof
