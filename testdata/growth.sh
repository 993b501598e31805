#!/usr/bin/env bash
# Usage: growth.sh [-d SECONDS] KPROF
#
# Has KPROF record what the kernel allocates and frees on the whole machine, while this
# project is built again and again for SECONDS (60), and compares the columns of span:kmalloc
# with what awk adds up of the text that perf prints of the same recording: what was
# allocated, and what of it was not freed by the end, pointer by pointer. It fails where they
# differ, or where anything was lost. It takes root, perf and Go, and some gigabytes in TMPDIR;
# it is no part of make test, which does the same for a tenth of a second.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
. testdata/numbered.sh
numbered d 60 "$@"
seconds=$number

cat >"$dir/load" <<END
export GOCACHE=$dir/cache
n=0
while [ \$SECONDS -lt $seconds ]; do
	rm -rf "\$GOCACHE"
	timeout -k 5 \$(($seconds - SECONDS + 1)) go build -o /dev/null ./cmd/kprof || :
	n=\$((n + 1))
done
echo "\$n builds in \$SECONDS s, the last not to its end"
END
"$kprof" record -q --max-lost 0 -a -e span:kmalloc -o "$dir/k.data" -- bash "$dir/load"
echo "$(($(stat -c %s "$dir/k.data") >> 20)) MB recorded"

"$kprof" convert "$dir/k.data" -o "$dir/ours.pb.gz"
# Samples are lines as "1 64 0 0: 3 2 1".
ours=$(go tool pprof -raw "$dir/ours.pb.gz" | awk '
	/^Locations/ { done = 1 }
	!done && /^ *[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+: / { sub(/:/, " "); for (i = 1; i <= 4; i++) n[i] += $i }
	END { printf " %d %d %d %d", n[1], n[2], n[3], n[4] }')

# The fields of events are found by their names: kernels differ in which they have.
theirs=$(perf script -i "$dir/k.data" -F event,trace 2>/dev/null | awk '
	function field(name,   s) {
		if (!match($0, "[ (]" name "=[^ ]*")) return ""
		s = substr($0, RSTART, RLENGTH)
		sub(/^[^=]*=/, "", s)
		return s
	}
	/kmem:kmalloc(_node)?:/ { p = field("ptr"); n = field("bytes_alloc"); if (p !~ /^(0x)?0*$/) { objects++; space += n; held[p] = n } }
	/kmem:kfree:/ { delete held[field("ptr")] }
	END {
		for (p in held) { inuse++; bytes += held[p] }
		printf " %d %d %d %d", objects, space, inuse, bytes
	}')
printf '%-8s %14s %14s %14s %14s\n' '' alloc_objects alloc_space inuse_objects inuse_space
printf '%-8s %14d %14d %14d %14d\n' kprof $ours perf $theirs
[ "$ours" = "$theirs" ] || { echo "they differ"; exit 1; }
