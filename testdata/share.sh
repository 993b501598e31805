#!/usr/bin/env bash
# Usage: share.sh KPROF DIR
#
# Writes what an installation has below share: man pages, and completions for
# bash, zsh and fish, from the commands themselves.
set -euo pipefail
kprof=$(realpath "$1") dir=$(realpath -m "$2")
cd "$(dirname "$0")/.."
rm -rf "$dir"
mkdir -p "$dir"/man "$dir"/bash-completion/completions "$dir"/zsh/site-functions "$dir"/fish/vendor_completions.d "$dir"/doc/kprof
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)} \
	go run -buildvcs=false -tags manpages ./cmd/kprof "$dir/man"
"$kprof" completion bash >"$dir"/bash-completion/completions/kprof
"$kprof" completion zsh >"$dir"/zsh/site-functions/_kprof
"$kprof" completion fish >"$dir"/fish/vendor_completions.d/kprof.fish
"$kprof" help licenses >"$dir"/doc/kprof/copyright
cp README.md "$dir"/doc/kprof/
find "$dir"/man -type f -exec gzip -9n {} +
