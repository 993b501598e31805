package cgroup

import (
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestContainer: paths as systemd, Docker, Podman, containerd, CRI-O, Kubernetes and LXC make
// them, of both versions of cgroups.
func TestContainer(t *testing.T) {
	const id = "3f4e1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7"
	const pod = "pod0a1b2c3d_1111_2222_3333_444455556666"
	livetest.Table(t, Container, map[string]string{
		"/":                             "",
		"":                              "",
		"/init.scope":                   "init.scope",
		"/system.slice":                 "",
		"/system.slice/ssh.service":     "ssh.service",
		"/system.slice/ssh.service/sub": "ssh.service",
		"/system.slice/system-getty.slice/getty@tty1.service":                              "getty@tty1.service",
		`/system.slice/dev-disk-by\x2duuid-1.swap`:                                         "dev-disk-by-uuid-1.swap",
		"/user.slice/user-1000.slice/session-3.scope":                                      "session-3.scope",
		`/user.slice/user-1000.slice/user@1000.service/app.slice/app-org.x\x2dy.scope`:     "app-org.x-y.scope",
		"/system.slice/docker.service":                                                     "docker.service",
		"/docker/" + id:                                                                    "docker:3f4e1a2b3c4d",
		"/docker/" + id + "/init":                                                          "docker:3f4e1a2b3c4d",
		"/docker/buildkit":                                                                 "",
		"/docker/" + strings.ToUpper(id):                                                   "",
		"/system.slice/docker-" + id + ".scope":                                            "docker:3f4e1a2b3c4d",
		"/system.slice/docker-" + id + ".scope/system.slice/nginx.service":                 "docker:3f4e1a2b3c4d",
		"/system.slice/docker-1234.scope":                                                  "docker-1234.scope",
		"/system.slice/docker-" + id + ".mount":                                            "docker-" + id + ".mount",
		"/machine.slice/libpod-" + id + ".scope":                                           "podman:3f4e1a2b3c4d",
		"/machine.slice/libpod-" + id + ".scope/container":                                 "podman:3f4e1a2b3c4d",
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope": "podman:3f4e1a2b3c4d",
		"/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" + id + ".slice/libpod-payload-" + id + ".scope": "podman:3f4e1a2b3c4d",
		"/libpod_parent/libpod-" + id: "podman:3f4e1a2b3c4d",
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" + pod + ".slice/cri-containerd-" + id + ".scope": "containerd:3f4e1a2b3c4d",
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-" + pod + ".slice/crio-" + id + ".scope":         "cri-o:3f4e1a2b3c4d",
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-" + pod + ".slice/docker-" + id + ".scope":       "docker:3f4e1a2b3c4d",
		"/kubepods/burstable/" + pod + "/" + id: "kubernetes:3f4e1a2b3c4d",
		"/kubepods/" + pod + "/" + id:           "kubernetes:3f4e1a2b3c4d",
		"/kubepods/burstable/" + pod:            "",
		"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1.slice/cri-containerd-" + id + ".scope": "containerd:3f4e1a2b3c4d",
		"/default/" + id:                               "containerd:3f4e1a2b3c4d",
		"/k8s.io/" + id:                                "containerd:3f4e1a2b3c4d",
		"/system.slice/nerdctl-" + id + ".scope":       "containerd:3f4e1a2b3c4d",
		"/lxc/web":                                     "lxc:web",
		"/lxc.payload.web/system.slice/cron.service":   "lxc:web",
		"/lxc.monitor.web":                             "",
		`/machine.slice/machine-db\x2d1.scope/payload`: "nspawn:db-1",
		`/machine.slice/machine-\x5fa\x20\x09.scope`:   "nspawn:_a \t", // systemd-escape _a, a space, a tab
		`/machine.slice/machine-db\x2.scope`:           `nspawn:db\x2`, // and what it never makes
		`/machine.slice/machine-db\xg1\x1g.scope`:      `nspawn:db\xg1\x1g`,
		`/machine.slice/systemd-nspawn@db.service/payload/system.slice/cron.service`: "nspawn:db",
		`/system.slice/odd\x2`:          "",
		`/system.slice/odd\xzz.service`: `odd\xzz.service`,
	})
}
