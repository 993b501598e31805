package procfs

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

func TestReadCPUTimes(t *testing.T) {
	for text, want := range map[string]CPUTimes{
		"cpu  100 200 300 400 500 600 700 800 900 1000\ncpu0 1 2 3\n": {Busy: 19 * time.Second, Idle: 9 * time.Second, Stolen: 8 * time.Second},
		"cpu  1 0 0 0 0 0 0 0\n":   {Busy: 10 * time.Millisecond},
		"cpu  1 0 0 0\n":           {},
		"cpu  1 0 0 0 0 0 0 -1 0":  {},
		"intr 1 2 3 4 5 6 7 8 9\n": {},
		"":                         {},
	} {
		got, err := ReadCPUTimes(fstest.MapFS{"stat": {Data: []byte(text)}})
		if (err == nil) != (want.Busy > 0) || err == nil && got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestReadFrequency(t *testing.T) {
	const cpu = "devices/system/cpu/cpu"
	sysfs := fstest.MapFS{
		cpu + "0/cpufreq/scaling_cur_freq":                {Data: []byte("2000000\n")},
		cpu + "1/cpufreq/scaling_cur_freq":                {Data: []byte("3000000\n")},
		cpu + "2/cpufreq/scaling_cur_freq":                {Data: []byte("<unknown>\n")},
		cpu + "0/thermal_throttle/core_throttle_count":    {Data: []byte("2\n")},
		cpu + "10/thermal_throttle/core_throttle_count":   {Data: []byte("3\n")},
		cpu + "idle/thermal_throttle/core_throttle_count": {Data: []byte("3\n")},
	}
	if kHz, err := ReadFrequency(sysfs); err != nil || kHz != 2.5e6 {
		t.Errorf("%v kHz, %v", kHz, err)
	}
	if n, err := ReadThrottled(sysfs); err != nil || n != 5 {
		t.Errorf("throttled %d times, %v", n, err)
	}
	if kHz, err := ReadFrequency(fstest.MapFS{}); err != nil || kHz != 0 {
		t.Errorf("%v kHz of a virtual machine, %v", kHz, err)
	}
}

// offline has files of which some fail as those of a CPU that is offline do.
type offline struct {
	fs.FS
	cpu string
}

func (o offline) Open(name string) (fs.File, error) {
	if strings.Contains(name, o.cpu+"/cpufreq/scaling") {
		return nil, &fs.PathError{Op: "read", Path: name, Err: syscall.EBUSY}
	}
	return o.FS.Open(name)
}

func TestReadFrequencyOffline(t *testing.T) {
	sysfs := offline{fstest.MapFS{
		"devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": {Data: []byte("2000000\n")},
		"devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": {},
	}, "cpu1"}
	if kHz, err := ReadFrequency(sysfs); err != nil || kHz != 2e6 {
		t.Errorf("%v kHz, %v", kHz, err)
	}
}
