package main

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// signals takes the signals that ask a recording to end, from watchSignals to the
// end of the program. The first one is handed out. Those that come within
// signalGrace are taken for the same wish, since Ctrl-C may reach us twice by way
// of a parent that passes it on; a later one kills us, as it would have without
// us: so nobody has to wait for a slow end.
type signals struct {
	first chan os.Signal // gets one, at most
}

const signalGrace = time.Second

func watchSignals() *signals {
	s := &signals{first: make(chan os.Signal, 1)}
	in := make(chan os.Signal, 4)
	signal.Notify(in, os.Interrupt, unix.SIGTERM)
	if !signal.Ignored(unix.SIGHUP) { // as nohup wants it
		signal.Notify(in, unix.SIGHUP)
	}
	go func() {
		one := <-in
		s.first <- one
		at := time.Now()
		for again := range in {
			if time.Since(at) > signalGrace {
				signal.Reset(again)
				_ = unix.Kill(unix.Getpid(), again.(unix.Signal))
			}
		}
	}()
	return s
}
