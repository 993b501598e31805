package event

// OffCPU is what stands for the events that tell when tasks are off the CPU.
const OffCPU = "off-cpu"

// OffCPUSpecs are the events of OffCPU: switches, and the wake-ups between them.
func OffCPUSpecs() []Spec {
	specs := make([]Spec, 0, 3)
	for _, name := range []string{"sched_switch", "sched_wakeup", "sched_wakeup_new"} {
		specs = append(specs, Spec{Text: "sched:" + name, Kind: KindTracepoint, System: "sched", Name: name})
	}
	return specs
}
