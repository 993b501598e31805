#!/usr/bin/env bash
# Records testdata/sysload in guests of two kernels (testdata/rig.sh), and tells which functions
# kprof diff finds to be renamed, beside a list by hand from the history of the source
# (testdata/rig/renames_test.go). It is no part of make test.
#
#	testdata/renames.sh record [BASE NEW [SECONDS]]    # 6.1 6.12 120
#	testdata/renames.sh compare                        # what was recorded
#
# The rules were made with 6.1 and 6.12, and then with 5.10 and 6.1; 6.12 and 6.18 were compared
# when they were done.
set -euo pipefail
cd "$(dirname "$0")/.."
guests=("${2:-6.1}-amd64" "${3:-6.12}-amd64")
dir=$PWD/.build/renames/${2:-6.1}-${3:-6.12}
case ${1-} in
record)
	mkdir -p "$dir"
	CGO_ENABLED=0 go build -trimpath -o "$dir/sysload" ./testdata/sysload
	cat >"$dir/script" <<-END
		sysload 1
		kprof record -q -e cpu-clock -F 397 -o /out/load.data -- sysload ${4:-120}
		cp /proc/kallsyms /out/kallsyms
	END
	RIG_SUITES=bullseye RIG_LIMIT=3600 testdata/rig.sh -run "$dir/script" -with "$dir/sysload" "${guests[@]}"
	for guest in "${guests[@]}"; do
		mv .build/rig/"$guest"/out/load.data "$dir/$guest.data"
		mv .build/rig/"$guest"/out/kallsyms "$dir/$guest.kallsyms"
	done
	;;
compare)
	go build -o .build/renames/kprof ./cmd/kprof
	PATH=$PWD/.build/renames:$PATH KPROF_RENAMES=$PWD/.build/renames go test -count 1 -v -run '^TestHostRenames$' ./testdata/rig
	;;
*)
	sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
