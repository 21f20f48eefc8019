package bench

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/mpi"
)

// Blocked is what a call cost that had to wait: the time it took and the
// processor time, of all threads, that the rank used during it. Both are in
// milliseconds.
type Blocked struct {
	Call string  `json:"call"`
	Wall float64 `json:"wall_ms"`
	CPU  float64 `json:"cpu_ms"`
}

// Share is the processor time in percent of one core.
func (b Blocked) Share() float64 { return 100 * b.CPU / b.Wall }

// Idle lets all ranks of c but the first block in Recv, in Probe and in
// Barrier until rank 0, which sleeps, comes after d. Rank 0 gets one line a
// call, of the rank that used most. The ranks must be processes: the processor
// time is the process's.
func Idle(c *mpi.Comm, d time.Duration) ([]Blocked, error) {
	if c.Size() < 2 {
		return nil, fmt.Errorf("%w: this benchmark needs two ranks or more", mpi.ErrRank)
	}
	buf := make([]byte, 8)
	wake := func() error { // rank 0 sends to the others
		for rank := 1; rank < c.Size(); rank++ {
			if err := mpi.Send(c, buf, rank, tagData); err != nil {
				return err
			}
		}
		return nil
	}
	recv := func() error { _, err := mpi.Recv(c, buf, 0, tagData); return err }
	probe := func() error { _, err := c.Probe(0, tagData); return err }

	var lines []Blocked
	for _, t := range []struct {
		call         string
		first, block func() error
		after        func() error // not measured
	}{
		{"Recv", wake, recv, nil},
		{"Probe", wake, probe, recv},
		{"Barrier", c.Barrier, c.Barrier, nil},
	} {
		line, err := blocked(c, d, t.first, t.block, t.after)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.call, err)
		}
		line.Call = t.call
		lines = append(lines, line)
	}
	if c.Rank() != 0 {
		return nil, nil
	}
	return lines, nil
}

func blocked(c *mpi.Comm, d time.Duration, first, block, after func() error) (Blocked, error) {
	if err := c.Barrier(); err != nil {
		return Blocked{}, err
	}
	cost := make([]float64, 2) // wall, CPU
	if c.Rank() == 0 {
		time.Sleep(d)
		if err := first(); err != nil {
			return Blocked{}, err
		}
	} else {
		cpu, start := processorTime(), time.Now()
		if err := block(); err != nil {
			return Blocked{}, err
		}
		cost[0] = microseconds(time.Since(start)) / 1e3
		cost[1] = microseconds(processorTime()-cpu) / 1e3
		if after != nil {
			if err := after(); err != nil {
				return Blocked{}, err
			}
		}
	}
	most := make([]float64, 2)
	if err := mpi.Reduce(c, cost, most, mpi.Max, 0); err != nil {
		return Blocked{}, err
	}
	return Blocked{Wall: most[0], CPU: most[1]}, nil
}

// processorTime is what this process has used, in user and kernel mode.
func processorTime() time.Duration {
	var u unix.Rusage
	// It fails only for an invalid pointer or an unknown first argument.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
