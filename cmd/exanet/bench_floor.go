package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/bench/floor"
)

// comparison is a figure of the MPI next to the line of the floor it is held
// against.
type comparison struct {
	Name    string    `json:"name"`
	Value   float64   `json:"value"`
	Unit    string    `json:"unit"`
	Against string    `json:"against"`         // name of the line
	Ratio   float64   `json:"ratio,omitempty"` // Value to that line; 0 if the line has no figure
	Repeats []float64 `json:"repeats"`

	command, size string
	iterations    string  // 0: as usual
	scale         float64 // of the line's unit to Unit
}

// comparables are the values of --with.
func comparables() map[string]*comparison {
	return map[string]*comparison{
		"latency": {Name: "MPI latency, 8 B", Unit: "us", Against: floor.CacheLineName, command: "latency", size: "8",
			iterations: "200000", scale: 1e-3},
		"bw": {Name: "MPI bandwidth, 4 MiB", Unit: "MB/s", Against: floor.AttachStreamName, command: "bw",
			size: "4194304", iterations: "0", scale: 1},
	}
}

// floorFigures is what --json prints of floor.
type floorFigures struct {
	Benchmark string        `json:"benchmark"`
	Lines     []floor.Line  `json:"lines"`
	MPI       []*comparison `json:"mpi,omitempty"`
}

func newFloor() *cobra.Command {
	var f struct {
		with   []string
		sizes  string
		repeat int
		ranks  int
		json   bool
	}
	cmd := &cobra.Command{
		Use:   "floor",
		Short: "What this machine can do at best, without any MPI",
		Long: `Measure what an MPI on this machine is made of, between two processes that share
memory: a cache line's trip between cores, context switches on one core, waking
a sleeper, memcpy, and process_vm_writev.

With --with, MPI figures are measured in turn with them, so that both see the
same machine, and their ratio is printed.

With --sizes, measure only what a message of each size takes in plain programs, in
microseconds one way: copied through shared memory (Shared); copied by one side with
cross-memory attach (One copies); copied by both sides, a half each (Both copy). And what
two ranks need to pass each other one at once, and one to themselves, as in an
Alltoall, up to 1 MiB: by attach (Exchange), and through shared memory, in pieces of
16 KiB (and shared). 0 is what has not been measured. A program that fits the caches better
may be faster. It takes about half a second for each size and repeat.

With --ranks, up to 64, measure only what so many processes, rather more than there are
cores, need to pass each other blocks of each of --sizes, up to 64 KiB, as in an
Alltoall: through shared memory (Shared), and by attach (Attach, 0 if that is refused).
Each has a session of its own, as MPICH's launcher alone gives its ranks, so that a core
is handed over by sleeping only; those on a core take turns in the order that needs the
fewest hand-overs. It takes some seconds for each size with --repeat 5.`,
		Example: `  exanet bench floor
  exanet bench floor --with latency,bw
  exanet bench floor --sizes 1:4194304
  exanet bench floor --ranks 8 --sizes 8,1024,65536
  exanet bench floor --repeat 9 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if inJob() {
				return usageErrorf("%s starts its own processes: call it outside a job", cmd.CommandPath())
			}
			if f.repeat < 1 {
				return usageErrorf("--repeat %d: use 1 or more", f.repeat)
			}
			if cmd.Flags().Changed("ranks") {
				if len(f.with) > 0 || f.json {
					return usageErrorf("--ranks goes neither with --with nor with --json")
				}
				if f.ranks < 1 || f.ranks > floor.MostProcesses {
					return usageErrorf("--ranks %d: use 1 to %d", f.ranks, floor.MostProcesses)
				}
				if f.sizes == "" {
					return usageErrorf("--ranks wants --sizes as well: blocks of up to %d bytes",
						floor.LongestBlock)
				}
				sizes, err := bench.ParseSizes(f.sizes)
				if err == nil && slices.Max(sizes) > floor.LongestBlock {
					err = fmt.Errorf("%d bytes are the most", floor.LongestBlock)
				}
				if err != nil {
					return usageErrorf("--sizes: %v", err)
				}
				return writeOversubscribed(cmd, f.ranks, sizes, f.repeat)
			}
			if cmd.Flags().Changed("sizes") {
				if len(f.with) > 0 || f.json {
					return usageErrorf("--sizes goes neither with --with nor with --json")
				}
				sizes, err := bench.ParseSizes(f.sizes)
				if err == nil && slices.Max(sizes) > floor.LargestMessage {
					err = fmt.Errorf("%d bytes are the most", floor.LargestMessage)
				}
				if err != nil {
					return usageErrorf("--sizes: %v", err)
				}
				return writeMessages(cmd, sizes, f.repeat)
			}
			var with []*comparison
			for _, name := range f.with {
				c := comparables()[name]
				if c == nil {
					return usageErrorf("--with %s: use latency, bw, or both with a comma", name)
				}
				with = append(with, c)
			}
			var table floor.Table
			for range f.repeat {
				if err := table.Add(cmd.Context(), startFloorPeer); err != nil {
					return err
				}
				for _, c := range with {
					if err := c.add(cmd.Context()); err != nil {
						return err
					}
				}
			}
			for _, c := range with {
				c.compare(&table)
			}
			if f.json {
				return writeJSON(cmd.OutOrStdout(), floorFigures{"floor", table.Lines, with})
			}
			return writeFloor(cmd.OutOrStdout(), fmt.Sprintf("%s, medians of %d", cmd.CommandPath(), f.repeat), &table,
				with)
		},
	}
	cmd.Flags().StringSliceVar(&f.with, "with", nil, "MPI benchmarks to compare with: latency, bw")
	cmd.Flags().StringVar(&f.sizes, "sizes", "", "message sizes in bytes: from:to for powers of two, or a comma list")
	cmd.Flags().IntVar(&f.ranks, "ranks", 0, "processes that pass each other blocks, with --sizes")
	cmd.Flags().IntVar(&f.repeat, "repeat", 5, "times to measure everything; the medians are printed")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON, with the figure of every repeat")
	return cmd
}

// writeMessages measures messages and prints the medians.
func writeMessages(cmd *cobra.Command, sizes []int, repeat int) error {
	columns := []bench.Column{{Name: "Shared (us)"}, {Name: "One copies (us)"}, {Name: "Both copy (us)"},
		{Name: "Exchange (us)"}, {Name: "and shared (us)"}}
	for i := range columns {
		columns[i].Rows = make([]bench.Row, len(sizes))
	}
	p, err := floor.Open(cmd.Context(), startFloorPeer)
	if err != nil {
		return err
	}
	defer p.Close()
	for range repeat {
		for i, size := range sizes {
			t, err := p.Message(size)
			if err != nil {
				return err
			}
			for j, us := range []float64{t.Shared, t.One, t.Both, t.Exchange, t.ExchangeViaShared} {
				r := &columns[j].Rows[i]
				r.Size, r.Repeats = size, append(r.Repeats, us)
				r.Value = bench.Median(r.Repeats)
			}
		}
	}
	return bench.WriteOSUColumns(cmd.OutOrStdout(), cmd.CommandPath()+", one message", columns)
}

// writeOversubscribed measures processes that pass each other blocks and prints the medians.
func writeOversubscribed(cmd *cobra.Command, ranks int, sizes []int, repeat int) error {
	columns := []bench.Column{{Name: "Shared (us)"}, {Name: "Attach (us)"}}
	for j, attach := range []bool{false, true} {
		for _, size := range sizes {
			r := bench.Row{Size: size}
			for range repeat {
				us, err := floor.Oversubscribed(cmd.Context(), startFloorPeer, ranks, size, attach)
				if errors.Is(err, floor.ErrOversubscribed) || err != nil && !attach {
					return err
				}
				r.Repeats = append(r.Repeats, us)
			}
			r.Value = bench.Median(r.Repeats)
			columns[j].Rows = append(columns[j].Rows, r)
		}
	}
	return bench.WriteOSUColumns(cmd.OutOrStdout(), fmt.Sprintf("%s, %d processes", cmd.CommandPath(), ranks), columns)
}

// add measures the figure of the MPI once, in a job of its own.
func (c *comparison) add(ctx context.Context) error {
	var out bytes.Buffer
	if err := launchSelf(ctx, 2, []string{"bench", c.command, "--sizes=" + c.size, "--iterations=" + c.iterations,
		"--json"}, nil, &out); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	var got figures
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Rows) != 1 {
		return fmt.Errorf("%s: its ranks printed %q: %w", c.Name, out.String(), err)
	}
	c.Repeats = append(c.Repeats, got.Rows[0].Value)
	return nil
}

// compare computes the medians and the ratio.
func (c *comparison) compare(t *floor.Table) {
	c.Value = bench.Median(c.Repeats)
	if l, ok := t.Find(c.Against); ok {
		c.Ratio = c.Value / (l.Value * c.scale)
	}
}

func writeFloor(w io.Writer, title string, t *floor.Table, with []*comparison) error {
	_, err := fmt.Fprintf(w, "# %s\n", title)
	for _, l := range t.Lines {
		if err != nil {
			return err
		}
		if l.Refused != "" {
			_, err = fmt.Fprintf(w, "%-28s%12s %-5s %s\n", l.Name, "-", l.Unit, l.Refused)
		} else {
			_, err = fmt.Fprintf(w, "%-28s%12.2f %-5s %s\n", l.Name, l.Value, l.Unit, l.Note)
		}
	}
	for _, c := range with {
		if err != nil {
			return err
		}
		note := "no figure to compare with: " + c.Against
		if c.Ratio > 0 {
			note = fmt.Sprintf("%.2f times: %s", c.Ratio, c.Against)
		}
		_, err = fmt.Fprintf(w, "%-28s%12.2f %-5s %s\n", c.Name, c.Value, c.Unit, note)
	}
	return err
}
