# Every target works in a fresh clone on Debian or Ubuntu with Go alone.
#
#   make          build .build/kprof
#   make demo     record this machine for three seconds, show what was found
#   make test     install what the tests need (as root, by apt-get), run all of them
#   make bench    compare with perf on a recording of this machine; takes minutes
#   make fuzz     run every fuzz target for FUZZTIME

export PATH := $(PATH):/usr/local/go/bin:/usr/lib/go/bin
FUZZTIME ?= 60s

# A clone of another owner has no version that git would tell.
VCS := $(shell git status >/dev/null 2>&1 || echo -buildvcs=false)

.PHONY: build demo test bench fuzz clean

build:
	CGO_ENABLED=0 go build -trimpath $(VCS) -o .build/kprof ./cmd/kprof

demo: build
	@testdata/demo.sh .build/kprof

test:
	@GOFLAGS="$$GOFLAGS $(VCS)" testdata/test.sh

bench: build
	@testdata/bench.sh .build/kprof

fuzz:
	@testdata/fuzz.sh $(FUZZTIME)

clean:
	rm -rf .build demo.pb.gz demo.folded
