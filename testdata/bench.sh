#!/usr/bin/env bash
# Usage: bench.sh KPROF
# Compares with perf and trace-cmd on recordings of this machine, then times what is done for
# each record. It takes some minutes, wants root, perf and an idle machine, and
# fails on nothing that is slow. BENCH_FLAGS are flags of testdata/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
go build -o .build/benchmark ./testdata/bench
.build/benchmark ${BENCH_FLAGS:-} "$1" .build/bench
rm -f .build/bench/*.da*t* .build/bench/out.*
echo
go test -run='^$' -bench=. -benchmem -benchtime=200ms ./... | grep -vE '^(PASS|ok|\?|goos|goarch)'
