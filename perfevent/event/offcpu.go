package event

// OffCPU is what stands for the events that tell when tasks are off the CPU.
const OffCPU = "off-cpu"

// WallClock is what stands for those and a clock, which tells what tasks do on the CPU.
const WallClock = "wall-clock"

// OffCPUSpecs are the events of OffCPU: switches, and the wake-ups between them; with
// wakers also where a wake-up begins, which has the stack of who wakes. (That of
// sched_wakeup may be of an interrupt on the CPU of the task.)
func OffCPUSpecs(wakers bool) []Spec {
	names := []string{"sched_switch", "sched_wakeup", "sched_wakeup_new"}
	if wakers {
		names = append(names, "sched_waking")
	}
	specs := make([]Spec, 0, len(names))
	for _, name := range names {
		specs = append(specs, Spec{Text: "sched:" + name, Kind: KindTracepoint, System: "sched", Name: name})
	}
	return specs
}
