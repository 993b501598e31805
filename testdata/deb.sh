#!/usr/bin/env bash
# Usage: deb.sh NFPM [BUILD-FLAG]
#
# Builds .build/kprof_VERSION_ARCH.deb for amd64 and arm64 with NFPM, a command.
# .build/share must be there. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
nfpm=$1 flag=${2:-}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
# Before a first version is tagged: 0.0~ and the commit's date.
version=$(git describe --tags --match 'v[0-9]*' 2>/dev/null | sed 's/^v//; s/-/+/g') || true
version=${version:-0.0~$(date -u -d @"$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S)}
for arch in amd64 arm64; do
	root=.build/deb/$arch
	mkdir -p "$root"
	CGO_ENABLED=0 GOARCH=$arch go build -trimpath -ldflags='-s -w' $flag -o "$root/kprof" ./cmd/kprof
	cat >"$root/nfpm.yaml" <<-END
		name: kprof
		arch: $arch
		platform: linux
		version: $version
		version_schema: none
		mtime: $(date -u -d @"$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
		section: devel
		priority: optional
		maintainer: ${MAINTAINER:-kprof developers <kprof@localhost>}
		description: |
		  record kernel and user stacks, name and compare them
		  Kprof records kernel and user stacks through perf_event_open(2), names every
		  frame, and writes flame graphs, pprof profiles, folded stacks, and perf.data
		  files that perf reads too. It compares recordings of two builds.
		license: Apache-2.0
		contents:
		  - src: $root/kprof
		    dst: /usr/bin/kprof
		    file_info: {mode: 0755}
		  - src: testdata/kprof.service
		    dst: /usr/lib/systemd/system/kprof.service
		    file_info: {mode: 0644}
		  - src: .build/share/man
		    dst: /usr/share/man
		    type: tree
		  - src: .build/share/bash-completion
		    dst: /usr/share/bash-completion
		    type: tree
		  - src: .build/share/zsh/site-functions/_kprof
		    dst: /usr/share/zsh/vendor-completions/_kprof
		  - src: .build/share/fish
		    dst: /usr/share/fish
		    type: tree
		  - src: .build/share/doc/kprof
		    dst: /usr/share/doc/kprof
		    type: tree
	END
	(umask 022 && $nfpm package -f "$root/nfpm.yaml" -p deb -t ".build/kprof_${version}_$arch.deb")
done
