package sys

import (
	"hash/fnv"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// SchedGroup names the group of tasks that this process is scheduled in: Yield
// lets others of the same group run, and those of other groups that want this core
// only if their groups have had no more of it than this one. Groups are the control groups of the processor, and
// without such the autogroups, of which every session has its own. 0 is the group
// of all.
func SchedGroup() uint64 {
	if own, err := Text("/proc/self/cgroup"); err == nil {
		if name := cpuGroup(own, isFile); name != "" {
			h := fnv.New64a()
			h.Write([]byte(name))
			return h.Sum64() | 1<<63
		}
	}
	if on, err := Text("/proc/sys/kernel/sched_autogroup_enabled"); err != nil || strings.TrimSpace(on) != "1" {
		return 0
	}
	text, err := Text("/proc/self/autogroup")
	if err != nil {
		return 0
	}
	return autogroup(text)
}

// cpuGroup is the control group that divides the processor for a process with this
// /proc/self/cgroup, "" if that is the root, in which autogroups count.
func cpuGroup(own string, exists func(string) bool) string {
	unified := ""
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3:
		case slices.Contains(strings.Split(f[1], ","), "cpu"):
			return strings.TrimPrefix(f[2], "/")
		case f[0] == "0":
			unified = f[2]
		}
	}
	// Version 2: the nearest that the controller has been given to.
	for at := path.Clean("/" + unified); ; at = path.Dir(at) {
		if exists(path.Join("/sys/fs/cgroup", at, "cpu.max")) {
			return "unified " + at
		}
		if at == "/" {
			return ""
		}
	}
}

func isFile(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// autogroup is the number in a text like "/autogroup-123 nice 0".
func autogroup(text string) uint64 {
	_, rest, _ := strings.Cut(text, "-")
	digits, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseUint(digits, 10, 62)
	return n
}
