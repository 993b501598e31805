package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/bootlog"
	"kprof/convert/export"
	"kprof/convert/printable"
	"kprof/convert/sniff"
)

func newBoot() *cobra.Command {
	var limit int
	var byStart, asJSON bool
	var out, f string
	var minGap time.Duration
	c := &cobra.Command{
		Use:   "boot [LOG…]",
		Short: "Show what took long while a kernel booted, suspended or resumed",
		Long: `Boot reads the log of a kernel that was booted with the parameter initcall_debug:
what dmesg prints, a serial console's log, /dev/kmsg or a journal; - is standard
input. Without LOG it is that of the running machine, which takes root.

It prints what did not return, the time by level (where the kernel tells levels; those
of modules are together, as module), by subsystem and by call, and when nothing was
called for a while. Times of calls include what they called and waited for; self does
not have what they called. With -o or -f the calls become a flame graph, a pprof
profile, or whatever kprof convert writes, of several logs their sum. Logs are read by
all other commands too: kprof diff compares two boots.`,
		Example: `  kprof boot dmesg.txt
  kprof boot dmesg.txt -o boot.svg
  kprof diff before.txt after.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := chooseProfile(out, f, "boot")
			switch {
			case err != nil:
				return err
			case minGap < 0:
				return usagef("--min-gap %v: wants a duration, 0 for all", minGap)
			case asJSON && o.format != "":
				return usagef("--json and -f or the ending of -o exclude each other")
			}
			given := func(flags ...string) bool { return slices.ContainsFunc(flags, cmd.Flags().Changed) }
			text := asJSON || o.format == "" || o.format == export.Text
			switch {
			case asJSON && given("limit", "by-start"):
				return usagef("-n and --by-start are for text: --json has all calls, as they began")
			case !text && given("limit", "by-start", "min-gap"):
				return usagef("-n, --by-start and --min-gap are not for profiles, which have all calls and no gaps")
			}
			if text {
				o.format = export.Text
				// Of times in microseconds, all are at least a nanosecond.
				read := bootlog.Options{MinGap: max(minGap, 1)}
				return writeBoot(o, func(w io.Writer) error {
					return eachBoot(w, args, asJSON, func(name string) error {
						l, _, err := readBoot(name, read)
						switch {
						case err != nil:
							return err
						case asJSON:
							return bootlog.JSON(w, l)
						}
						return bootlog.Table(w, l, bootlog.TableOptions{Limit: limit, ByStart: byStart})
					})
				})
			}
			if len(args) > 1 {
				p, err := loadSum(cmd.Context(), args, convert.Options{}, symbolOptions{})
				if err != nil {
					return err
				}
				return o.write(p)
			}
			l, name, err := readBoot(strings.Join(args, ""), bootlog.Options{})
			if err != nil {
				return err
			}
			return o.write(&profile{convert.OfBoot(l, convert.Options{Name: name})})
		},
	}
	fl := c.Flags()
	fl.VarP(rowsOf(&limit, 20), "limit", "n", "show `N` rows of each table, 0 for all")
	fl.BoolVar(&byStart, "by-start", false, "show calls in the order in which they began")
	fl.DurationVar(&minGap, "min-gap", 10*time.Millisecond, "show times without a call of at least this `duration`, 0 for all")
	fl.StringVarP(&out, "output", "o", "", "`file` to write, - for standard output")
	fl.StringVarP(&f, "format", "f", "", "text, pprof, folded, svg, html, speedscope, firefox or chrome, whatever the file is called")
	fl.BoolVar(&asJSON, "json", false, "as JSON: the calls, and totals by kind, level and subsystem")
	return c
}

// writeBoot writes text to the output, a page at a time if that is the terminal.
func writeBoot(o output, write func(io.Writer) error) error {
	if o.name != "-" {
		return o.create(write)
	}
	return paged(write)
}

// eachBoot calls write with the name of each log, "" for the running machine's.
func eachBoot(w io.Writer, names []string, asJSON bool, write func(name string) error) error {
	switch {
	case len(names) == 0:
		return write("")
	case asJSON:
		return eachInput(names, func(name, _ string, _ bool) error { return write(name) })
	}
	return eachHeaded(w, names, write)
}

// readBoot reads the log that is named, or the running machine's.
func readBoot(input string, o bootlog.Options) (l *bootlog.Log, name string, err error) {
	if input == "" {
		name = "the kernel's log"
		text, err := kernelLog()
		if err != nil {
			return nil, name, fmt.Errorf("read the kernel's log: %w", err)
		}
		l, err = bootlog.Read(bytes.NewReader(text), o)
		return l, name, bootError(name, l, err)
	}
	file, name, err := openInput(input)
	if err != nil {
		return nil, name, err
	}
	defer file.Close()
	in, err := convert.Unpack(file)
	if err != nil {
		return nil, name, fmt.Errorf("%s: %w", name, err)
	}
	l, err = bootlog.Read(in, o)
	if err != nil && in.Kind() != sniff.KernelLog && in.Kind() != sniff.OtherText {
		switch {
		case in.Kind() == sniff.Empty:
			err = errors.New("it is empty")
		case in.Kind().Unread() != "":
			err = errors.New(notRead(in.Kind()))
		default:
			err = errors.New("it is no log of a kernel")
		}
	}
	return l, name, bootError(name, l, errors.Join(err, in.Close()))
}

// bootError says what the kernel was booted with, if that was not enough.
func bootError(name string, l *bootlog.Log, err error) error {
	switch {
	case errors.Is(err, bootlog.ErrNoCalls) && l.Command != "":
		return fmt.Errorf("%s: %w; it was booted with: %s", name, err, printable.Shorten(l.Command, 200))
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
