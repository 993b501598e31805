# numbered LETTER NUMBER "$@" is for scripts that are called as SCRIPT [-LETTER NUMBER] KPROF, and
# prints how where one is not. It sets number, kprof to its path and dir to a directory that goes
# when the script ends.
numbered() {
	local letter=$1
	number=$2
	shift 2
	[ "${1-}" != "-$letter" ] || { number=$2 && shift 2; }
	[ $# = 1 ] || { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0" && exit 2; }
	kprof=$(realpath "$1")
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	trap 'exit 130' INT TERM
}
