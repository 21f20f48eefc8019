package launch

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// askWaits is what a rank gets over its control socket when the user wants to
// know what it waits for.
const askWaits = 'w'

// report asks the ranks what they wait for, and answers for those that cannot.
func (j *Job) report() {
	stopped := stoppedGroups()
	var b strings.Builder
	fmt.Fprintf(&b, "exanet: what the ranks wait for:")
	for _, r := range j.ranks {
		switch {
		case r.ended && r.end.Signal == 0 && r.end.Code == 0:
			r.tell(&b, "has ended")
		case r.ended:
			r.tell(&b, newRankError(r.number, r.pid, r.end).Cause())
		case stopped[r.pid]:
			r.tell(&b, fmt.Sprintf("is stopped; kill -CONT -%d lets it go on", r.pid))
		case !j.segment.Attached(r.number):
			r.tell(&b, "is running and has not called Init")
		case j.segment.Finalized(r.number):
			r.tell(&b, "has completed Finalize and is still running")
		case unix.Send(r.control, []byte{askWaits}, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) != nil:
			r.tell(&b, "is running and does not answer")
		}
	}
	j.say(nil, b.String())
}

func (r *rank) tell(b *strings.Builder, what string) {
	fmt.Fprintf(b, "\n  rank %d (pid %d) %s", r.number, r.pid, what)
}

// stoppedGroups returns the process groups that have a stopped member: it may
// be a child of a wrapper that is the rank.
func stoppedGroups() map[int]bool {
	groups := make(map[int]bool)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return groups
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp ...; the name may contain anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 2 && bytes.ContainsAny(fields[0], "Tt") {
			if group, err := strconv.Atoi(string(fields[2])); err == nil {
				groups[group] = true
			}
		}
	}
	return groups
}
