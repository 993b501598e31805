#!/bin/sh
# Records interpreters and virtual machines as `kprof help symbols` says, and looks whether the
# functions of their programs have names: sh testdata/interpreters.sh [KPROF]. PHP_DIR is where
# php8.2-cli and php8.2-opcache were unpacked (dpkg-deb -x), if they are not installed. What is not
# there is left out; ROOT is a tree of a newer Debian, such as debootstrap --include=python3,ruby
# trixie makes, whose python3 and ruby are run there. Run it by hand, with the right to record (README.md).
set -u
kprof=${1:-kprof}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

# check NAME LEAST COMMAND...: of the samples of a command, at least LEAST percent have a frame of
# the function innermost, or of middle, into which compilers put it.
check() {
	name=$1 least=$2
	shift 2
	if ! command -v "$1" >/dev/null; then
		echo "$name: not here"
		return
	fi
	"$kprof" record -q -e cpu-clock:u -F 499 -o out.folded -- "$@" 2>said || { echo "FAIL $name:"; cat said; failed=1; return; }
	share=$(awk '{ n = $NF; all += n; if (/innermost|middle/) found += n } END { printf "%d", all ? 100 * found / all : 0 }' out.folded)
	echo "$name: $share % of the time has the names of the program"
	if [ "$share" -lt "$least" ]; then
		echo "FAIL $name: wanted $least %"
		failed=1
	fi
}

cat >busy.js <<'END'
function innermost(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function middle(k) { let s = 0; while (k--) s += innermost(10000); return s; }
middle(20000);
END
cat >Busy.java <<'END'
public class Busy {
	static int innermost(int n) { int s = 0; for (int i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
	static int middle(int k) { int s = 0; while (k-- > 0) s += innermost(10000); return s; }
	public static void main(String[] a) { System.exit(middle(50000) == 1 ? 1 : 0); }
}
END
cat >busy.php <<'END'
<?php
function innermost($n) { $s = 0; for ($i = 0; $i < $n; $i++) $s = ($s * 31 + $i) % 1000003; return $s; }
function middle($k) { $s = 0; while ($k--) $s += innermost(10000); return $s; }
middle(20000);
END
cat >busy.py <<'END'
def innermost(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) % 1000003
    return s
def middle(k):
    while k:
        innermost(10000)
        k -= 1
middle(1000)
END
cat >busy.rb <<'END'
def innermost(n)
  s, i = 0, 0
  while i < n
    s = (s * 31 + i) % 1000003
    i += 1
  end
  s
end
2000.times { innermost(10000) }
END

check "node --perf-basic-prof" 60 node --perf-basic-prof --interpreted-frames-native-stack busy.js
command -v javac >/dev/null && javac Busy.java &&
	check "java -XX:+DumpPerfMapAtExit" 60 java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer Busy
php=php so=opcache.so
if [ -n "${PHP_DIR:-}" ]; then
	php=$(find "$PHP_DIR" -name 'php8.*' -path '*/bin/*' | head -1)
	so=$(find "$PHP_DIR" -name opcache.so)
	export LD_LIBRARY_PATH="$PHP_DIR/usr/lib/$(uname -m)-linux-gnu"
fi
check "php opcache.jit_debug=0x10" 60 "$php" -n -d zend_extension="$so" -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=32M -d opcache.jit_debug=0x10 busy.php
unset LD_LIBRARY_PATH
if python3 -c 'import sys; sys.exit(not hasattr(sys, "activate_stack_trampoline"))' 2>/dev/null; then
	check "python3 -X perf" 60 python3 -X perf busy.py
else
	echo "python3 -X perf: takes Python 3.12, and this is $(python3 --version)"
fi
if ruby --yjit --yjit-perf -e 1 2>/dev/null; then
	check "ruby --yjit-perf" 60 ruby --yjit --yjit-perf busy.rb
else
	echo "ruby --yjit --yjit-perf: takes Ruby 3.3 with YJIT"
fi

# Debian's python3 has no frame pointers, and its code made at run time no call frame information.
if [ -n "${ROOT:-}" ]; then
	cp busy.py busy.rb "$ROOT/tmp/"
	for mode in perf perf_jit; do
		"$kprof" record -q --call-graph auto -e cpu-clock:u -F 499 -o out.folded -- chroot "$ROOT" python3 -X $mode /tmp/busy.py
		share=$(awk '{ n = $NF; all += n; if (/;py::<module>:.*;py::middle:.*;py::innermost:/) found += n } END { printf "%d", all ? 100 * found / all : 0 }' out.folded)
		echo "$(chroot "$ROOT" python3 --version) -X $mode: $share % of the time has the names of the program, from its module on"
		[ "$share" -ge 80 ] || { echo "FAIL python3 -X $mode: wanted 80 %"; failed=1; }
	done
	if chroot "$ROOT" ruby --yjit --yjit-perf -e 1 2>&1 | grep -q 'without YJIT'; then
		echo "ruby --yjit-perf: $(chroot "$ROOT" ruby --version) is built without YJIT"
	else
		check "ruby --yjit-perf in $ROOT" 60 chroot "$ROOT" ruby --yjit --yjit-perf /tmp/busy.rb
	fi
	rm -f "$ROOT"/tmp/perf-*.map "$ROOT"/tmp/jit-*.dump
fi

# Without being asked, no process leaves names, and one line says how it would.
if command -v node >/dev/null; then
	if "$kprof" record -e cpu-clock:u -F 499 -o out.folded -- node busy.js 2>&1 | grep -q -- '--perf-basic-prof'; then
		echo "node: how is said"
	else
		echo "FAIL node: nothing says how its code gets names"
		failed=1
	fi
fi
exit $failed
