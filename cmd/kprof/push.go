package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/printable"
	"kprof/convert/store"
)

// pushFlags are the flags of kprof push.
type pushFlags struct {
	sel selection
	sym symbolOptions
	sendFlags
	to  string
	now bool
}

// sendFlags are the flags that say what of profiles is sent to a store, and how.
type sendFlags struct {
	store             storeFlags
	protocol          string
	service, root     string
	setLabels, series []string
	spool, spoolMax   string
	maxAge, retryFor  time.Duration
}

func (f *sendFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	defer under(fl, headingSend)()
	fl.StringVar(&f.service, "service", "kprof", "label service_name, by which stores list profiles")
	fl.StringVar(&f.protocol, "protocol", "", "pyroscope, or otlp for a receiver of OpenTelemetry, whose profiles are experimental (default otlp if the URL ends in /v1development/profiles, else pyroscope)")
	fl.StringVar(&f.root, "root", "comm", "`label` that becomes the first frame of each stack, \"\" for none")
	fl.StringArrayVar(&f.setLabels, "set-label", nil, "`KEY=VALUE`, a label of the profiles; or KEY=PATTERN, whose group in parentheses is found in each input's name")
	fl.StringSliceVar(&f.series, "series", nil, "`labels` of samples, such as host of kprof merge, of whose values series are made")
	fl.StringVar(&f.spool, "spool", "", "`directory` for what cannot be sent yet")
	fl.StringVar(&f.spoolMax, "spool-max", "256M", "`size` of the spool, from which on the oldest are lost")
	fl.DurationVar(&f.maxAge, "spool-age", time.Hour, "how old profiles may be that are sent: what the store takes")
	fl.DurationVar(&f.retryFor, "retry-for", 2*time.Minute, "how long to try again while the store takes nothing")
	f.store.flags(c)
}

// labels are those that the flags give each input.
func (f *sendFlags) labels(inputs []string) ([][]store.Label, error) {
	var origins []convert.Origin
	for _, s := range f.setLabels {
		o, err := convert.ParseOrigin(s)
		if err != nil {
			return nil, usagef("--set-label: %w", err)
		}
		origins = append(origins, o)
	}
	labels := make([][]store.Label, len(inputs))
	for i, name := range inputs {
		for j := range origins {
			l, err := origins[j].Label(name)
			if err != nil {
				return nil, fmt.Errorf("--set-label: %w", err)
			}
			labels[i] = append(labels[i], store.Label{Name: l.Key, Value: l.Str})
		}
	}
	return labels, nil
}

// sender returns what sends to a store, and what ends it.
func (f *sendFlags) sender(to string, o store.SenderOptions) (_ *store.Sender, end func(), err error) {
	switch {
	case f.service == "":
		return nil, nil, usagef("--service wants a name: stores list profiles by it")
	case f.maxAge <= 0 || f.retryFor <= 0:
		return nil, nil, usagef("--spool-age and --retry-for want a time")
	}
	f.store.protocol = store.ProtocolOf(to)
	switch f.protocol {
	case "":
	case store.OTLP.String():
		f.store.protocol = store.OTLP
	case store.Pyroscope.String():
		if f.store.protocol == store.OTLP {
			return nil, nil, usagef("--protocol %s: %s is the address of a receiver of OpenTelemetry", f.protocol, to)
		}
	default:
		return nil, nil, usagef("--protocol %q: use pyroscope or otlp", f.protocol)
	}
	client, err := f.store.client(to)
	if err != nil {
		return nil, nil, err
	}
	o.Pieces.Labels = append([]store.Label{{Name: "service_name", Value: f.service}}, o.Pieces.Labels...)
	o.Pieces.Series, o.Pieces.Root = f.series, f.root
	o.MaxAge, o.TryFor = f.maxAge, f.retryFor
	end = client.Close
	if f.spool != "" {
		most, ok := byteSize(f.spoolMax)
		if !ok || most < 1e6 || most > 1e15 {
			return nil, nil, usagef("--spool-max %q: wants a size such as 256M, at least 1M", f.spoolMax)
		}
		if o.Spool, err = store.OpenSpool(f.spool, store.SpoolOptions{MaxBytes: int64(most), MaxAge: f.maxAge}); err != nil {
			return nil, nil, fmt.Errorf("--spool: %w", err)
		}
		end = func() {
			client.Close()
			_ = o.Spool.Close() // of a directory
		}
	}
	return store.NewSender(client, o), end, nil
}

func newPush() *cobra.Command {
	var f pushFlags
	c := &cobra.Command{
		Use:   "push [INPUT…] --to URL",
		Short: "Send profiles to a store of profiles, such as Grafana Pyroscope",
		Long: `Push sends inputs to a store with the API of Grafana Pyroscope, or to a receiver of
OpenTelemetry (--protocol otlp, experimental as its format is), labelled with what they
say of where they were recorded: host, kernel_release, kernel_build_id, arch, event.
Labels of samples are not sent, as each would be a series: the comm is the first frame
of each stack (--root), and --series makes series of other labels, 100 values of each.
The command line that was recorded is not sent.

What is larger than a store takes is sent in parts, and no faster than it takes it;
what it does not take for the moment is tried again, for --retry-for. With --spool,
what could not be sent stays in a directory, also if kprof is killed, until another
push with that --spool sends it: without INPUT, nothing else. Each profile arrives at
least once; what was lost, since the spool was full or the store refused it, is
counted and said.`,
		Example: `  kprof push web1.pb.gz --to http://localhost:4040
  kprof push --service web --set-label 'host=(web[0-9]+)' web[0-9]*.pb.gz --to http://localhost:4040
  kprof push --spool spool web1.pb.gz --to http://localhost:4040
  kprof push --spool spool --to http://localhost:4040`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.to, "to", "", "`URL` of the store")
	fl.BoolVar(&f.now, "now", false, "send profiles as if they had been recorded now")
	f.sendFlags.flags(c)
	f.sel.flags(c)
	f.sym.flags(c)
	return c
}

func (f *pushFlags) run(ctx context.Context, inputs []string) error {
	switch {
	case f.to == "":
		return usagef("say which store to send to: --to URL, such as http://localhost:4040")
	case len(inputs) == 0 && f.spool == "":
		return usagef("name the profiles to send, or the --spool that has some")
	}
	opts, err := f.sel.options()
	if err != nil {
		return err
	}
	labels, err := f.labels(inputs)
	if err != nil {
		return err
	}
	sender, end, err := f.sender(f.to, store.SenderOptions{Retrying: f.retrying()})
	if err != nil {
		return err
	}
	defer end()
	return f.send(ctx, sender, inputs, labels, opts)
}

// retrying returns what says that a store takes nothing for the moment: once, or with -v
// each time.
func (f *sendFlags) retrying() func(error, time.Duration) {
	said := false
	return func(err error, wait time.Duration) {
		if voice.verbose {
			messagef("trying again in %v: %v", wait.Round(time.Millisecond), err)
		} else if !said {
			notef("trying again for %v: %v", f.retryFor, err)
		}
		said = true
	}
}

// send sends inputs, one in memory at a time, and says what became of them. Once the store
// takes nothing, the others go into the spool without being tried.
func (f *pushFlags) send(ctx context.Context, s *store.Sender, inputs []string, labels [][]store.Label, opts convert.Options) error {
	before := s.Counts().Lost
	failed := 0
	ctx, end := (*signals)(nil).limited(ctx, 24*time.Hour)
	defer end()
	var sending error
	if len(inputs) == 0 {
		sending = s.Drain(ctx)
	}
	// stopped says that nothing more is to be read, and what is left out for it.
	stopped := func(done int) bool {
		left := len(inputs) - done
		if sending == nil && left > 0 {
			sending = context.Cause(ctx)
		}
		if sending == nil || f.spool != "" && ctx.Err() == nil {
			return false
		}
		if left > 0 {
			sending = fmt.Errorf("%w; %d more inputs were not sent", sending, left)
		}
		return true
	}
	for i, name := range inputs {
		p, err := loadQuiet(ctx, name, opts, f.sym)
		if ctx.Err() != nil && stopped(i) { // names may be missing
			break
		}
		if err != nil {
			messagef("%v", err)
			failed++
			continue
		}
		say(p.Warnings)
		if f.now {
			p.Set.TimeNanos = time.Now().UnixNano()
		}
		if err := s.Enqueue(p.Set, labels[i]...); err != nil {
			var old *store.TooOldError
			if errors.As(err, &old) {
				err = fmt.Errorf("%w; --now sends it as if it were new, --spool-age says what your store takes", err)
			}
			messagef("%s: %v", name, err)
			failed++
			if !errors.As(err, new(*store.TooLargeError)) { // all else of it is sent
				continue
			}
		}
		if sending == nil {
			if sending = s.Drain(ctx); sending != nil && f.spool == "" {
				sending = fmt.Errorf("%s: %w", name, sending)
			}
		}
		if stopped(i + 1) {
			break
		}
	}
	return f.result(f.to, s, before, failed, sending)
}

// result says what was sent, what was lost, and what is still waiting.
func (f *sendFlags) result(to string, s *store.Sender, before store.Losses, failed int, sending error) error {
	c := s.Counts()
	if c.Sent > 0 {
		notef("sent %s (%s, %d kB) to %s", printable.Count(c.Sent, "profile"), printable.Count(c.Samples, "sample"), (c.Bytes+999)/1000, to)
	}
	if c.LastRemark != nil {
		notef("%v", c.LastRemark)
	}
	lost := c.Lost
	for r := range lost {
		lost[r] -= before[r]
	}
	if lost.Total() > 0 {
		text := fmt.Sprintf("lost: %v", &lost)
		if c.LastRejection != nil {
			text += fmt.Sprintf("; %v", c.LastRejection)
		}
		messagef("%s", text)
	}
	if before.Total() > 0 {
		notef("lost before, since there is the spool: %v", &before)
	}
	waiting, err := s.Waiting()
	if err != nil {
		return errors.Join(sending, err)
	}
	if c.Behind > 0 && waiting > 0 {
		messagef("%s behind the others: %v, which it did again and again while it took others", countDoes(c.Behind, "profile", "waits", "wait"), c.LastFailure)
	}
	var other *store.ProtocolError
	if errors.As(sending, &other) {
		sending = fmt.Errorf("%w; --protocol %v and its address send them", sending, other.Protocol)
	}
	switch {
	case errors.Is(sending, store.ErrSending):
		notef("another kprof is sending from %s, %s left to it", f.spool, countDoes(waiting, "profile", "is", "are"))
		if failed > 0 {
			return exitError{exitFailed}
		}
		return nil
	case sending != nil && f.spool != "":
		return fmt.Errorf("%s: %w; %s in %s", to, sending, countDoes(waiting, "profile", "stays", "stay"), f.spool)
	case sending != nil:
		return fmt.Errorf("%s: %w", to, sending)
	case failed > 0 || lost.Total() > 0:
		return exitError{exitFailed} // why has been said
	case c.Sent == 0 && f.spool != "":
		notef("%s is empty: there is nothing to send", f.spool)
	}
	return nil
}
