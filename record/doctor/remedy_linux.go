package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"kprof/perfevent"
)

// Remedy is what root types to make work what was refused by err, a
// perfevent.PermissionError: "as root: " and the command, which gives this program
// capabilities or sets perf_event_paranoid; "" for other errors, and where nothing helps.
func Remedy(err error) string {
	var denied *perfevent.PermissionError
	switch {
	case !errors.As(err, &denied) || denied.Environment != "":
		return ""
	case denied.Level != perfevent.NoLevel:
		return fmt.Sprintf("as root: sysctl kernel.perf_event_paranoid=%d", denied.Level)
	}
	command := ""
	if denied.Unmounted {
		command = "mount -t tracefs tracefs /sys/kernel/tracing && "
	}
	return "as root: " + command + setcapCommand(denied.Capabilities, denied.Lower)
}

// setcapCommand gives this program capabilities, and those for names of the kernel and of
// other users' programs; lower is for levels at which they do not count.
func setcapCommand(wanted []string, lower bool) string {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	caps := slices.Clone(wanted)
	for _, c := range []string{"CAP_SYSLOG", "CAP_SYS_PTRACE"} {
		if !slices.Contains(caps, c) {
			caps = append(caps, c)
		}
	}
	command := ""
	if lower {
		command = fmt.Sprintf("sysctl kernel.perf_event_paranoid=%d && ", perfevent.MostLevel)
	}
	return fmt.Sprintf("%ssetcap %s=ep %s", command, strings.ToLower(strings.Join(caps, ",")), shellWord(program))
}

// shellWord is s as a shell takes it for one word.
func shellWord(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-+,:@%=", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
