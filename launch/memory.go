package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Where memory runs out, the kernel kills the process whose score is highest: about its share of the
// memory, and what is written to this file. Ranks have more there than the launcher, which is to tell
// of it.
const (
	scoreFile   = "/proc/%d/oom_score_adj"
	ranksScore  = 300
	mostOfScore = 1000
)

// offer lets the kernel choose a process before this one. Where that is not possible, it stays as it is.
func offer(pid int) {
	text, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return
	}
	score := strconv.Itoa(min(own+ranksScore, mostOfScore))
	_ = os.WriteFile(fmt.Sprintf(scoreFile, pid), []byte(score), 0)
}

// memoryKills is how many processes the kernel has killed for want of memory since it booted, in
// whatever control group; ok is false if it does not say so.
func memoryKills() (n uint64, ok bool) {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err = strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
