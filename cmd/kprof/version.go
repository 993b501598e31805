package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the program and its version, as recordings and profiles keep it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "kprof"
	}
	return "kprof " + info.Main.Version
}

// build is version with what the program was built from, by and for.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version()
	}
	commit, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = "commit " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " with changes"
		}
	}
	if commit == "" {
		commit = "commit unknown"
	}
	return fmt.Sprintf("%s, %s%s, %s, %s/%s", version(), commit, modified, info.GoVersion, runtime.GOOS, runtime.GOARCH)
}
