#!/usr/bin/env bash
# Usage: callgraphcost.sh [-n TURNS] KPROF
#
# Records commands with --call-graph fp and auto, in turns, TURNS (10) times each, and prints what
# the second costs of the first: medians of the recorder's CPU time, of the CPU time of recorder
# and command together, of the output's size and of the number of samples. Commands all of whose
# programs have frame pointers come first, one that runs for two seconds and one that starts four
# hundred others; of these auto may cost 1.2 times the CPU time of all, else it fails. Then it prints
# the same of a command without frame pointers, of which auto copies the stacks. It takes root and
# gcc, and is no part of make test.
set -euo pipefail
export LC_ALL=C
. "$(dirname "$0")/numbered.sh"
numbered n 10 "$@"
turns=$number
cat >"$dir/spin.c" <<'END'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
volatile long sink;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void inner(int n) { leaf(n); sink++; }
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
/* spin SECONDS, or spin TIMES SECONDS, which starts itself so often */
int main(int argc, char **argv)
{
	if (argc > 2) {
		for (int i = 0; i < atoi(argv[1]); i++) {
			if (!fork()) {
				execl(argv[0], argv[0], argv[2], (char *)0);
				_exit(1);
			}
			wait(0);
		}
		return 0;
	}
	for (double end = now() + atof(argv[1]); now() < end;)
		inner(10000);
}
END
gcc -O1 -fno-omit-frame-pointer -o "$dir/has" "$dir/spin.c"
gcc -O1 -fomit-frame-pointer -o "$dir/lacks" "$dir/spin.c"
TIMEFORMAT='%R %U %S'

# record MODE OUTPUT COMMAND... appends a line to MODE's: CPU time of the recorder and of all in ms,
# bytes, samples.
record() {
	local mode=$1 out=$2 real user system share samples
	shift 2
	rm -f "$dir/$out"
	{ time "$kprof" record -v --call-graph "$mode" -o "$dir/$out" -- "$@" 2>"$dir/said"; } 2>"$dir/time"
	read -r real user system <"$dir/time"
	share=$(sed -n 's/.*recorder took \([0-9.]*\)%.*/\1/p' "$dir/said")
	samples=$(sed -n 's/.*[^0-9]\([0-9]*\) samples in.*/\1/p' "$dir/said")
	awk -v r="$real" -v u="$user" -v s="$system" -v c="$share" -v b="$(stat -c %s "$dir/$out")" -v n="$samples" \
		'BEGIN { print r * c * 10, (u + s) * 1000, b, n }' >>"$dir/$mode"
}
median() { cut -d' ' -f"$2" "$dir/$1" | sort -g | sed -n "$(((turns + 1) / 2))p"; }

failed=0
# compare WHAT LIMIT OUTPUT COMMAND...
compare() {
	local what=$1 limit=$2 i
	shift 2
	rm -f "$dir/fp" "$dir/auto"
	for ((i = 0; i < turns; i++)); do
		if ((i % 2)); then record auto "$@" && record fp "$@"; else record fp "$@" && record auto "$@"; fi
	done
	echo "$what, into $1:"
	i=0
	for column in "CPU time of the recorder, ms" "CPU time of all, ms" "bytes" "samples"; do
		i=$((i + 1))
		awk -v what="$column" -v fp="$(median fp $i)" -v auto="$(median auto $i)" -v limit="$([ $i = 2 ] && echo "$limit" || echo 0)" 'BEGIN {
			printf "%32s  fp %11.0f  auto %11.0f  %5.2f times\n", what, fp, auto, auto / (fp ? fp : 1)
			exit limit > 0 && auto > limit * fp }' || failed=1
	done
}
for out in x.data x.folded; do
	compare "all programs have frame pointers, one" 1.2 $out "$dir/has" 2
	compare "all programs have frame pointers, 400" 1.2 $out "$dir/has" 400 0.002
	compare "no frame pointers" 0 $out "$dir/lacks" 2
done
[ $failed = 0 ] || { echo "auto costs more than 1.2 times what frame pointers cost" >&2 && exit 1; }
