#!/usr/bin/env bash
# Usage: emptyroot.sh [fp|dwarf|lbr|auto]...
#
# Records, with these call graphs (default: fp dwarf auto), programs of which names are hard to
# have: deleted ones, containers that are gone by the end, debug files by link and by build id,
# symbols in .gnu_debugdata, libraries that were removed, programs without a file, perf maps,
# jitdumps, C++, Rust, Go, and what interpreters there are. Then converts each recording on
# this machine, with and without the names that it brings along, and in an empty root, which has
# nothing but a static kprof and the recording; and prints how many lines of folded stacks
# differ, which must be none, and how many samples have a frame without a name. What perf reads
# of it must be the same with the names and without. It takes root, gcc, g++ and perf, half a
# minute for a call graph, and is no part of make test, whose TestLiveSampledNames does less.
set -euo pipefail
export LC_ALL=C
case ${1-} in -*) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0" && exit 2 ;; esac
cd "$(dirname "$0")/.."
src=$PWD
CGO_ENABLED=0 go build -o .build/kprof.static ./cmd/kprof
dir=$(mktemp -d) && root=$dir/root
installed=
jobs=()
end() {
	[ ${#jobs[@]} = 0 ] || kill "${jobs[@]}" 2>/dev/null || :
	wait 2>/dev/null || :
	[ -z "$installed" ] || rm -f "$installed"
	rm -rf "$dir"
}
trap end EXIT
mkdir "$root" && cp .build/kprof.static "$root/kprof" && cd "$dir"

# program NAME [FLAG]...: a program that is busy in its function busy_NAME for three seconds. Build ids
# do not tell names apart, so its code differs.
program() {
	local name=$1
	shift
	cat >"$name.c" <<-END
		#include <time.h>
		static volatile unsigned n;
		__attribute__((noinline)) void busy_$name(void) { for (int i = 0; i < 100000; i++) n = n * $(cksum <<<"$name" | cut -d" " -f1)u + i; }
		__attribute__((noinline)) void calls_$name(void) { busy_$name(); n++; }
		#ifndef LIBRARY
		int main(void) { for (struct timespec t, b = (clock_gettime(CLOCK_MONOTONIC, &b), b); clock_gettime(CLOCK_MONOTONIC, &t), t.tv_sec < b.tv_sec + 3;) calls_$name(); }
		#endif
	END
	gcc -O2 -fno-optimize-sibling-calls "$@" -o "$name" "$name.c"
}
program plain
program deleted
program nofp -fomit-frame-pointer -static
program contained -static
program linked && mkdir .debug && objcopy --only-keep-debug linked .debug/linked.debug && strip linked && objcopy --add-gnu-debuglink=.debug/linked.debug linked
program byid -Wl,--build-id && id=$(readelf -n byid | sed -n 's/.*Build ID: //p')
installed=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
mkdir -p "${installed%/*}" && objcopy --only-keep-debug byid "$installed" && strip byid
program mini && nm mini | awk '$2 ~ /[Tt]/ { print $3 }' >keep && objcopy -S --keep-symbols=keep mini mini.debug && xz -f mini.debug && strip mini && objcopy --add-section .gnu_debugdata=mini.debug.xz mini
program library -DLIBRARY -shared -fPIC
cat >loads.c <<-END
	#include <dlfcn.h>
	#include <unistd.h>
	int main(void) { void (*f)(void) = dlsym(dlopen("./library", RTLD_NOW), "calls_library"); unlink("./library"); for (int i = 0; i < 15000; i++) f(); }
END
gcc -O2 -o loads loads.c
cat >memfd.c <<-END
	#define _GNU_SOURCE
	#include <stdlib.h>
	#include <sys/mman.h>
	#include <sys/sendfile.h>
	#include <fcntl.h>
	#include <unistd.h>
	int main(void) { int m = memfd_create("hidden", MFD_CLOEXEC), f = open("plain", O_RDONLY); while (sendfile(m, f, 0, 1 << 20) > 0); char *args[] = {"hidden", 0}; fexecve(m, args, args + 1); }
END
gcc -o memfd memfd.c
cat >cpp.cc <<-END
	#include <string>
	#include <vector>
	#include <time.h>
	namespace work { template <typename T> struct Heap { std::vector<T> all; __attribute__((noinline)) void push(T t) { all.push_back(t); if (all.size() > 1000) all.clear(); } }; }
	int main() { work::Heap<std::string> h; for (clock_t end = clock() + 2 * CLOCKS_PER_SEC; clock() < end;) h.push("some string that is not short at all"); }
END
g++ -O2 -o cpp cpp.cc
cat >goes.go <<-END
	package main
	import ("sort"; "time")
	func main() { for end := time.Now().Add(3 * time.Second); time.Now().Before(end); { s := make([]int, 1<<16); for i := range s { s[i] = i * 7919 % 65537 }; sort.Ints(s) } }
END
go build -o goes goes.go
[ -z "$(command -v rustc)" ] || { echo 'fn main() { let b = std::time::Instant::now(); while b.elapsed().as_secs() < 3 { let mut v: Vec<String> = (0..5000).map(|i| (i * 7919 % 65537).to_string()).collect(); v.sort(); } }' >rusts.rs && rustc -O -o rusts rusts.rs; }
gcc -O1 -o jit "$src/cmd/kprof/testdata/jit.c"
cat >all.sh <<-'END'
	busy='let e = Date.now() + 3000, x = 0; function hot(i) { return (i * 31) % 1009 } while (Date.now() < e) for (let i = 0; i < 1e5; i++) x += hot(i)'
	unshare -m sh -c 'mkdir -p box && mount -t tmpfs none box && cp contained box/ && exec chroot box /contained' &
	cp deleted.kept deleted; ./deleted & cp library.kept library
	for p in plain nofp linked byid mini loads memfd cpp goes rusts; do [ ! -x $p ] || ./$p & done
	mkdir -p jitted; (cd jitted && ../jit .) &
	! command -v node >/dev/null || node --perf-basic-prof -e "$busy" &
	! command -v python3 >/dev/null || python3 -c 'import time
	end = time.time() + 3
	while time.time() < end: sorted(str(i) for i in range(10000))' &
	! command -v perl >/dev/null || perl -e 'use Time::HiRes; my $e = time + 3; while (time < $e) { my %h = map { $_ => 1 } 1..1000 }' &
	sleep 1; rm -f deleted; wait
END
cp deleted deleted.kept && cp library library.kept

fail=0
for graph in "${@:-fp dwarf auto}"; do for graph in $graph; do
	rm -rf jitted x.data*
	"$root/kprof" record -q -F 999 --call-graph "$graph" -o x.data -- sh all.sh >/dev/null 2>said || { cat said && exit 1; }
	size=$(stat -c %s x.data)
	names=$(($(tail -c 16 x.data | od -An -tu4 -N4)))
	head -c $((size - names)) x.data >bare.data && touch -r x.data bare.data
	cp x.data "$root/"
	"$root/kprof" convert -q -f folded x.data >here
	"$root/kprof" convert -q -f folded bare.data >bare
	chroot "$root" /kprof convert -q -f folded /x.data >empty
	unnamed() { awk '{ all += $NF } /;\[[^];]*\]/ { n += $NF } END { printf "%.2f%%", 100 * n / all }' "$1"; }
	differ=$(diff here empty | grep -c '^[<>]' || :)
	echo "$graph: $(wc -l <here) lines, $differ differ in an empty root; $(diff bare empty | grep -c '^>' || :) lines that the files alone do not tell; $names bytes of names"
	for p in plain deleted nofp contained linked byid mini library; do
		here=$(awk -v p="busy_$p" 'index($0, p) { n += $NF } END { print n + 0 }' empty)
		[ "$here" -gt 0 ] || { echo "$graph: no sample of busy_$p in an empty root" && fail=1; }
	done
	[ "$differ" = 0 ] || { diff here empty | head -20 && fail=1; }
	echo "$graph: samples with a frame without a name: $(unnamed here) here, $(unnamed bare) by the files alone, $(unnamed empty) in an empty root"
	for f in x bare; do perf script --no-inline -F comm,pid,time,event,ip,sym -i $f.data >$f.perf 2>$f.complaints || fail=1; done
	cmp x.perf bare.perf && cmp x.complaints bare.complaints || fail=1
	[ -z "${KEEP-}" ] || cp here bare empty said "$KEEP/"
done; done
exit $fail
