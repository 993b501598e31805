//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"kprof/convert/stacks"
	"kprof/convert/store"
	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// composed is what of a compose file is looked at.
type composed struct {
	Services map[string]struct {
		Image, Restart string
		Ports, Volumes []string
		Environment    map[string]string
		Command        []string
	}
	Volumes map[string]any
}

// exampleFleet reads testdata/fleet.
func exampleFleet(t *testing.T) (dir string, c composed) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(root, "testdata", "fleet"))
	if err != nil {
		t.Fatal(err)
	}
	unmarshal(t, filepath.Join(dir, "compose.yaml"), yaml.Unmarshal, &c)
	return dir, c
}

func unmarshal(t *testing.T, name string, how func([]byte, any) error, to any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err == nil {
		err = how(b, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestFleetExample: in testdata/fleet, what the services mount is there, nothing listens for
// others, the comparison that is a link of the dashboard is made by its command of what a
// store has, and each panel and variable asks for what kprof sends.
func TestFleetExample(t *testing.T) {
	dir, c := exampleFleet(t)
	if len(c.Services) != 4 {
		t.Fatalf("%d services", len(c.Services))
	}
	ports := map[string]bool{}
	for name, s := range c.Services {
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s listens at %s", name, p)
			}
			ports[strings.Split(p, ":")[1]] = true
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			_, named := c.Volumes[source]
			_, err := os.Stat(filepath.Join(dir, source))
			if !named && !strings.HasPrefix(source, "/sys/") && source != "../../.build/kprof" && err != nil {
				t.Errorf("%s mounts %s: %v", name, source, err)
			}
		}
	}

	server := storetest.New(t)
	client, err := store.NewClient(store.ClientOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	agent := c.Services["agent"].Command
	i := slices.IndexFunc(agent, func(a string) bool { return strings.HasPrefix(a, "--service=") })
	if i < 0 {
		t.Fatalf("the agent has no --service: %q", agent)
	}
	sender := store.NewSender(client, store.SenderOptions{Pieces: store.PieceOptions{
		Labels: []store.Label{{Name: "service_name", Value: agent[i][len("--service="):]}}, Limits: store.Limits{BytesPerSecond: 1 << 30},
	}})
	comparison := c.Services["comparison"]
	kernels := map[string]string{}
	for _, side := range []string{"BASE", "NEW"} {
		_, release, ok := strings.Cut(strings.TrimSuffix(comparison.Environment[side], "}"), ":-")
		if !ok {
			t.Fatalf("%s is %q", side, comparison.Environment[side])
		}
		kernels[side] = release
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 12 {
		samples, cpu := stacks.ValueType{Type: "samples", Unit: "count"}, stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
		set := machineWith(r, fmt.Sprint("h", i), []string{kernels["BASE"], kernels["NEW"]}[i%2], 0.05*float64(i%2), samples, cpu)
		set.PeriodType = cpu
		if err := sender.Enqueue(set); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}

	// One round of the loop that makes the page, in which $$ is compose's $.
	_, body, ok := strings.Cut(comparison.Command[2], "while :; do\n")
	body, _, closed := strings.Cut(body, "  sleep 600\n")
	if !ok || !closed || !strings.Contains(body, "kprof diff ") {
		t.Fatalf("the comparison is %q", comparison.Command)
	}
	page := t.TempDir()
	for _, ending := range []string{".md", ".html"} { // a page has its numbers in columns
		script := strings.NewReplacer("$$", "$", "http://store:4040", server.URL, "/page/", page+"/", ".html", ending).Replace(body)
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), "BASE="+kernels["BASE"], "NEW="+kernels["NEW"])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	md, err := os.ReadFile(filepath.Join(page, "kernels.md"))
	if err != nil || !strings.Contains(string(md), "| `work0` | more |") {
		t.Errorf("%s, %v", md, err)
	}

	type source struct{ Type, UID string }
	type link struct{ URL string }
	var dashboard struct {
		Links      []link
		Templating struct {
			List []struct {
				Name       string
				Datasource source
				Query      struct{ Type, ProfileTypeID, LabelName string }
			}
		}
		Panels []struct {
			Type, Title string
			Datasource  source
			Links       []link
			Targets     []struct{ QueryType, ProfileTypeID, LabelSelector string }
		}
	}
	unmarshal(t, filepath.Join(dir, "grafana", "dashboards", "kernels.json"), json.Unmarshal, &dashboard)
	var provider struct {
		Providers []struct{ Options struct{ Path string } }
	}
	unmarshal(t, filepath.Join(dir, "grafana", "dashboards", "kernels.yaml"), yaml.Unmarshal, &provider)
	var sources struct {
		Datasources []struct{ UID, Type, URL string }
	}
	unmarshal(t, filepath.Join(dir, "grafana", "datasources", "store.yaml"), yaml.Unmarshal, &sources)
	if len(provider.Providers) != 1 || provider.Providers[0].Options.Path != "/etc/grafana/provisioning/dashboards" {
		t.Errorf("%+v", provider)
	}
	known := source{sources.Datasources[0].Type, sources.Datasources[0].UID}
	if sources.Datasources[0].URL != "http://store:4040" {
		t.Errorf("%+v", sources)
	}
	value := map[string]string{}
	query := store.Query{Start: time.Now().Add(-time.Hour), End: time.Now().Add(time.Minute)}
	for i, v := range dashboard.Templating.List {
		values, err := client.Values(t.Context(), query, v.Query.LabelName)
		if err != nil || v.Datasource != known || len(values) != 2 {
			t.Fatalf("%+v: %q, %v", v, values, err)
		}
		value["$"+v.Name] = values[i]
	}
	if len(dashboard.Panels) != 2 || len(value) != 2 || len(dashboard.Links) != 1 {
		t.Errorf("%d panels, %d variables, %d links", len(dashboard.Panels), len(value), len(dashboard.Links))
	}
	for _, p := range dashboard.Panels {
		q := query
		q.Type, q.Selector = p.Targets[0].ProfileTypeID, p.Targets[0].LabelSelector
		for name, v := range value {
			q.Selector = strings.ReplaceAll(q.Selector, name, v)
		}
		set, err := client.Fetch(t.Context(), q)
		if err != nil || set.NumSamples() != 30 || p.Datasource != known || p.Type != "flamegraph" {
			t.Errorf("%s: %v", p.Title, err)
		}
		for _, l := range slices.Concat(p.Links, dashboard.Links) {
			at, name, _ := strings.Cut(strings.TrimPrefix(l.URL, "http://localhost:"), "/")
			if _, err := os.Stat(filepath.Join(page, name)); err != nil || !ports[at] {
				t.Errorf("%s has a link to %s: %v", p.Title, l.URL, err)
			}
		}
	}
}

// TestLiveFleetExample: the agent's command records this machine and sends it.
func TestLiveFleetExample(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	_, c := exampleFleet(t)
	server := storetest.New(t)
	var args []string
	for _, a := range c.Services["agent"].Command[1:] {
		a = strings.NewReplacer("http://store:4040", server.URL, "=/spool", "="+t.TempDir(), "--every=10s", "--every=300ms").Replace(a)
		args = append(args, a)
	}
	if _, stderr, code := outcome(t, t.TempDir(), append(args, "-d", "3s")...); code != 0 || len(server.Pushes()) < 2 {
		t.Errorf("kprof %q: exit code %d, %d pushes: %s", args, code, len(server.Pushes()), stderr)
	}
	for _, p := range server.Pushes() {
		if p.Labels["service_name"] != "fleet" || p.Labels["__name__"] != "process_cpu" || p.Labels["kernel_release"] == "" {
			t.Errorf("labels %v", p.Labels)
		}
	}
}
