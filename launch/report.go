package launch

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// askWaits is what a rank gets over its control socket when the user wants to
// know what it waits for. Its answer ends with a zero byte.
const askWaits = 'w'

// answerTime is how long all ranks together have for their answers. The
// supervision waits meanwhile.
const answerTime = time.Second

// report asks the ranks what they wait for, and answers for those that cannot.
func (j *Job) report() {
	stopped := stoppedGroups()
	says := make([]string, len(j.ranks))
	for i, r := range j.ranks {
		switch {
		case r.ended && r.end.Signal == 0 && r.end.Code == 0:
			says[i] = "has ended"
		case r.ended:
			says[i] = j.rankError(r, r.end).Cause()
		case stopped[r.pid]:
			says[i] = fmt.Sprintf("is stopped; kill -CONT -%d lets it go on", r.pid)
		case !j.segment.Attached(r.number):
			says[i] = "is running and has not called Init"
		case j.segment.Finalized(r.number):
			says[i] = "has completed Finalize and is still running"
		case !r.ask():
			says[i] = noAnswer
		}
	}
	until := time.Now().Add(answerTime)
	var b strings.Builder
	b.WriteString("exanet: what the ranks ")
	if j.cfg.Host != "" {
		b.WriteString("on " + j.cfg.Host + " ")
	}
	b.WriteString("wait for:")
	for i, r := range j.ranks {
		if says[i] == "" {
			says[i] = r.answer(until)
		}
		for line := range strings.SplitSeq(says[i], "\n") {
			fmt.Fprintf(&b, "\n  rank %d (pid %d) %s", r.number, r.pid, line)
		}
	}
	j.say(nil, b.String())
}

const noAnswer = "is running and does not answer"

// ask puts the question to the rank, after what is left of answers that came
// too late.
func (r *rank) ask() bool {
	var old [4 << 10]byte
	for {
		n, _, err := unix.Recvfrom(r.control, old[:], unix.MSG_DONTWAIT)
		if err != nil || n == 0 {
			break
		}
	}
	return unix.Send(r.control, []byte{askWaits}, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) == nil
}

// answer returns what the rank says, if it does so in time.
func (r *rank) answer(until time.Time) string {
	var text []byte
	buf := make([]byte, 4<<10)
	for {
		n, _, err := unix.Recvfrom(r.control, buf, unix.MSG_DONTWAIT)
		switch {
		case err == nil && n > 0:
			text = append(text, buf[:n]...)
			if i := bytes.IndexByte(text, 0); i >= 0 {
				return string(text[:i])
			}
		case err == unix.EAGAIN || err == unix.EINTR:
			left := time.Until(until).Milliseconds()
			if left <= 0 {
				return noAnswer
			}
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(r.control), Events: unix.POLLIN}}, int(left))
		default:
			return noAnswer
		}
	}
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
