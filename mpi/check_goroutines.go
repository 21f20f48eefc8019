package mpi

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A Go program may have goroutines that make no call now, but will. It cannot be in a deadlock as long as one of
// them may go on by itself. The runtime's own list of goroutines tells.

// allWait reports whether each goroutine of the process waits in a call, waits for others, or has
// nothing to do with the program.
func allWait() bool {
	dump := make([]byte, 64<<10)
	for {
		n := runtime.Stack(dump, true)
		if n < len(dump) {
			dump = dump[:n]
			break
		}
		dump = make([]byte, 2*len(dump))
	}
	waits := 0
	for g := range strings.SplitSeq(string(dump), "\n\n") {
		switch stateOf(g) {
		case goroutineFree:
			return false
		case goroutineInCall:
			waits++
		}
	}
	return waits == int(inWaits.Load()) // else one of them waits for what nobody has noted
}

type goroutineState int

const (
	goroutineIdle goroutineState = iota
	goroutineInCall
	goroutineFree
)

// Functions of the library by which goroutines wait: in calls, for all ranks, and beside the program.
const (
	waitsIn  = modulePath + "/mpi/internal/progress.(*Engine).wait("
	waitsFor = modulePackages + "Run("
	begins   = modulePackages + "(*aside)" // a blocking collective
	watches  = modulePackages + "(*waits).watch("
)

// library matches functions of the packages that make calls, beside which this module has programs.
var library = regexp.MustCompile(`^` + regexp.QuoteMeta(modulePath) +
	`/(mpi|emu|variants|optimistic|coll|datatype|internal|packetizer|mbox|rdmaeng|endpoint|group|topo)[./]`)

// patient are the states in which a goroutine waits for another of the process.
var patient = []string{"sync.WaitGroup.Wait", "semacquire", "sync.Mutex.Lock", "sync.RWMutex.Lock",
	"sync.RWMutex.RLock", "sync.Cond.Wait", "chan receive (nil chan)", "chan send (nil chan)", "select (no cases)"}

// standard is how the names of functions begin that are called by programs on their way to wait.
var standard = []string{"runtime.", "runtime/", "sync.", "internal/", "time.", "testing.", "os.", "os/signal.",
	"syscall.", "golang.org/x/sys/"}

// stateOf reads the description of a goroutine, which has two lines for each call, the last one first.
func stateOf(g string) goroutineState {
	head, stack, _ := strings.Cut(g, "\n")
	_, state, _ := strings.Cut(head, "[")
	state, _, _ = strings.Cut(strings.TrimSuffix(state, "]:"), ",")
	if strings.Contains(stack, watches) { // of this mode itself, perhaps within regexp or encoding/json
		return goroutineIdle
	}
	lines, inside := strings.Split(stack, "\n"), false
	for i := 0; i+1 < len(lines); i += 2 {
		f := lines[i]
		ours := library.MatchString(f) && !strings.Contains(lines[i+1], "_test.go:")
		switch {
		case strings.HasPrefix(f, "created by"): // it has to do with the library or the runtime alone
		case strings.Contains(lines[i+1], "_testmain.go:"):
			continue
		case slices.ContainsFunc(standard, func(p string) bool { return strings.HasPrefix(f, p) }):
			continue
		case !ours && !inside && slices.Contains(patient, state):
		case !ours:
			return goroutineFree
		case strings.HasPrefix(f, waitsIn):
			return goroutineInCall
		case strings.HasPrefix(f, begins):
			return goroutineFree
		case strings.HasPrefix(f, waitsFor):
		default: // of a call, perhaps on its way to wait, or out of it
			inside = true
			continue
		}
		return goroutineIdle
	}
	return goroutineIdle // of the standard library alone
}
