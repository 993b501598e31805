package cgroup

import "strings"

// engines are the beginnings of the names of scopes in which engines of containers run them
// under systemd, and what the engine is called: docker-ID.scope (moby, daemon/oci_linux.go),
// libpod-ID.scope (podman, libpod/oci_conmon_linux.go), cri-containerd-ID.scope and
// crio-ID.scope (runtimeOptions of Kubernetes' CRI), nerdctl-ID.scope.
var engines = []struct{ prefix, name string }{
	{"docker-", "docker"},
	{"libpod-payload-", "podman"},
	{"libpod-", "podman"},
	{"cri-containerd-", "containerd"},
	{"nerdctl-", "containerd"},
	{"crio-", "cri-o"},
}

// parents are cgroups whose children are containers, by their ids, where cgroups are not
// managed by systemd.
var parents = map[string]string{
	"docker":        "docker",
	"libpod_parent": "podman",
	"default":       "containerd", // its namespace, which is nerdctl's and ctr's
	"k8s.io":        "containerd",
}

// Container says what runs in a cgroup, by its path from the root of the hierarchy on: a
// container as "docker:0123456789ab", by the first twelve digits of its id, as the engines
// list them, "lxc:NAME" or "nspawn:NAME", else the innermost unit of systemd, as
// "ssh.service"; empty where it is neither. Of what a container runs in cgroups of its own
// it is the container.
func Container(path string) string {
	unit, parent, pods := "", "", false
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		scope, isScope := strings.CutSuffix(name, ".scope")
		for _, e := range engines {
			if id, ok := strings.CutPrefix(scope, e.prefix); ok && isScope && isID(id) {
				return e.name + ":" + id[:shortID]
			}
		}
		engine := parents[parent]
		if pods = pods || name == "kubepods" || name == "kubepods.slice"; pods {
			engine = "kubernetes"
		}
		if id, ok := strings.CutPrefix(name, "libpod-"); ok && isID(id) {
			return "podman:" + id[:shortID]
		}
		switch {
		case engine != "" && isID(name):
			return engine + ":" + name[:shortID]
		case parent == "lxc" && name != "":
			return "lxc:" + name
		}
		if container, ok := strings.CutPrefix(name, "lxc.payload."); ok && container != "" {
			return "lxc:" + container
		}
		if machine, ok := strings.CutPrefix(scope, "machine-"); ok && isScope && parent == "machine.slice" {
			return "nspawn:" + unescape(machine)
		}
		if machine, ok := strings.CutPrefix(name, "systemd-nspawn@"); ok {
			return "nspawn:" + unescape(strings.TrimSuffix(machine, ".service"))
		}
		if isScope || strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".socket") || strings.HasSuffix(name, ".mount") || strings.HasSuffix(name, ".swap") {
			unit = unescape(name)
		}
		parent = name
	}
	return unit
}

// shortID is how many digits of an id engines show.
const shortID = 12

// isID reports whether s is the id of a container: 64 hexadecimal digits.
func isID(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// unescape takes back what systemd-escape(1) does to the names of units: \xHH is a byte.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if hi, lo := digit(s[i+2]), digit(s[i+3]); hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func digit(c byte) int { return strings.IndexByte("0123456789abcdef", c) }
