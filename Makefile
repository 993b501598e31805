# Every target works in a fresh clone on Debian or Ubuntu with Go alone.
#
#   make          build .build/kprof
#   make demo     record this machine for three seconds, show what was found
#   make check    vet, and run the tests that need nothing but Go, in two minutes
#   make test     install what the tests need (as root, by apt-get), run those of this
#                 machine; ALL=1 runs all: in virtual machines with other kernels, on
#                 32 bits, under the race detector, and so on; V=1 lists the tests that
#                 were skipped
#   make bench    compare with perf on a recording of this machine; takes minutes
#   make fuzz     run every fuzz target for FUZZTIME
#   make module PATH=example.org/you/kprof
#                 give the module another path
#   make man      man pages and completions, into .build/share
#   make install  binary, man pages and completions, into DESTDIR and PREFIX
#   make deb      Debian packages for amd64 and arm64, into .build

# make module takes its argument by the name of the path of programs, which is that of
# make's own environment then.
MODULE :=
ifeq ($(origin PATH),command line)
MODULE := $(PATH)
MAKEOVERRIDES :=
override PATH := $(shell /usr/bin/tr '\0' '\n' </proc/$$PPID/environ | /usr/bin/sed -n 's/^PATH=//p')
endif
override PATH := $(PATH):/usr/local/go/bin:/usr/lib/go/bin
export PATH
FUZZTIME ?= 60s
PREFIX ?= /usr/local
NFPM := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.41.3

# A clone of another owner has no version that git would tell.
VCS := $(shell git status >/dev/null 2>&1 || echo -buildvcs=false)

.PHONY: build demo check test bench fuzz module man install deb clean

build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' $(VCS) -o .build/kprof ./cmd/kprof

demo: build
	@testdata/demo.sh .build/kprof

check:
	@GOFLAGS="$$GOFLAGS $(VCS)" testdata/test.sh $(if $(V),-v) -check

test:
	@GOFLAGS="$$GOFLAGS $(VCS)" testdata/test.sh $(if $(V),-v) $(if $(ALL),-all)

bench: build
	@testdata/bench.sh .build/kprof

fuzz:
	@testdata/fuzz.sh $(FUZZTIME)

module:
	@go run ./testdata/module "$(MODULE)"

man: build
	@testdata/share.sh .build/kprof .build/share

install: man
	install -D -m 755 .build/kprof $(DESTDIR)$(PREFIX)/bin/kprof
	cd .build/share && find . -type f -exec install -D -m 644 {} $(DESTDIR)$(PREFIX)/share/{} \;

deb: man
	@testdata/deb.sh "go run $(NFPM)" "$(VCS)"

clean:
	rm -rf .build demo.pb.gz demo.folded
