package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/bench/tune"
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/atomicfile"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { commands = append(commands, newTune) }

// tuneFlags are those of exanet tune.
type tuneFlags struct {
	ranks, ops, sizes string
	repeat            int
	json              bool

	file   string
	counts []int
	names  []string
	sweep  bench.Sweep
}

func newTune() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:   "tune [flags] [FILE]",
		Short: "Measure which algorithms of collectives are the fastest here",
		Long: `Tune measures the algorithms of each collective on this machine, by turns in one
job for each number of ranks, prints the times, and writes a table of those that
need at most 0.9 of the time of the built-in choice: to FILE, if one is given.
EXANET_COLL=@FILE has ranks use the table, also those of preloaded programs; exanet
info --collectives shows what is in force then. It is a text that can be edited.

A row holds for up to so many ranks, so measure small numbers too. For more ranks
and larger sizes than were measured the built-in rows hold. Sizes are those of the
vector or of one rank's block, as in exanet bench coll. It takes some minutes, in
which the machine should have nothing else to do. Inside a job the job's number of
ranks is measured.`,
		Example: `  exanet tune tuned.txt
  EXANET_COLL=@tuned.txt exanet info --collectives
  EXANET_COLL=@tuned.txt exanet run -n 4 ./app
  exanet tune -n 2,4,8 --op allreduce,bcast --sizes 1024:262144`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf("tune takes one FILE to write, and here is %q too (see exanet tune --help)", args[1])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.file = args[0]
			}
			if err := f.check(); err != nil {
				return err
			}
			if !inJob() {
				return f.tune(c)
			}
			world, err := mpi.Init()
			if err != nil {
				return err
			}
			if err := f.asRank(c, world); err != nil {
				return err
			}
			return mpi.Finalize()
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.ranks, "ranks", "n", "2,4", "numbers of ranks to measure, a comma list")
	flags.StringVar(&f.ops, "op", "all", "the collectives: all, or a comma list of "+
		strings.Join(tune.Collectives(), ", "))
	flags.StringVar(&f.sizes, "sizes", "8:1048576", "sizes in bytes: from:to for powers of two, or a comma list")
	flags.IntVar(&f.repeat, "repeat", 5, "rounds to make; the medians count")
	flags.BoolVar(&f.json, "json", false, "print JSON, with the figure of every round")
	return c
}

// check reads the flags.
func (f *tuneFlags) check() error {
	for word := range strings.SplitSeq(f.ranks, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2 || n > host.MaxRanks {
			return usageErrorf("--ranks %s: want numbers from 2 to %d, with commas", f.ranks, host.MaxRanks)
		}
		f.counts = append(f.counts, n)
	}
	names, err := someOf("op", f.ops, tune.Collectives())
	if err != nil {
		return err
	}
	f.names = names
	sizes, err := bench.ParseSizes(f.sizes)
	if err != nil {
		return usageErrorf("--sizes: %v", err)
	}
	if slices.Contains(sizes, 0) {
		return usageErrorf("--sizes %s: want sizes from 1 byte on", f.sizes)
	}
	if f.repeat < 1 {
		return usageErrorf("--repeat %d: use 1 or more", f.repeat)
	}
	f.sweep = bench.Sweep{Sizes: sizes, Repeat: f.repeat, Settle: settleTime}
	return nil
}

// tune measures in jobs of its own, one for each collective and number of ranks.
func (f *tuneFlags) tune(c *cobra.Command) error {
	ctx, stop := interruptible(c.Context())
	defer stop()
	out, err := f.create()
	if err != nil {
		return err
	}
	defer discard(out)
	progress := newProgress(c, len(f.counts)*len(f.names), "measuring")
	defer progress.end()
	var all []*tune.Figures
	for _, n := range f.counts {
		for _, name := range f.names {
			got, err := f.measure(ctx, n, name)
			if err != nil {
				return fmt.Errorf("%s, %d ranks: %w", name, n, err)
			}
			progress.hide()
			if err := f.print(c, got); err != nil {
				return err
			}
			progress.add(1)
			all = append(all, got...)
		}
	}
	return f.finish(c, out, all)
}

// measure runs a job that measures a collective.
func (f *tuneFlags) measure(ctx context.Context, ranks int, name string) (got []*tune.Figures, err error) {
	args := []string{"tune", "--json", "--op=" + name, "--sizes=" + f.sizes, fmt.Sprintf("--repeat=%d", f.repeat)}
	var out bytes.Buffer
	if err := launchSelf(ctx, ranks, args, []string{"EXANET_COLL="}, &out); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return nil, fmt.Errorf("its ranks printed %q: %w", out.String(), err)
	}
	return got, nil
}

// asRank measures in the job that this process is a rank of.
func (f *tuneFlags) asRank(c *cobra.Command, world *mpi.Comm) error {
	var out *renameio.PendingFile
	if world.Rank() == 0 {
		var err error
		if out, err = f.create(); err != nil {
			return err
		}
		defer discard(out)
	}
	var all []*tune.Figures
	for _, name := range f.names {
		got, err := tune.Measure(world, name, f.sweep)
		if err != nil {
			return err
		}
		all = append(all, got)
	}
	if world.Rank() != 0 {
		return nil
	}
	if err := f.print(c, all); err != nil {
		return err
	}
	return f.finish(c, out, all)
}

// print prints figures, unless all shall come at the end.
func (f *tuneFlags) print(c *cobra.Command, all []*tune.Figures) error {
	if f.json {
		return nil
	}
	for _, g := range all {
		columns := make([]bench.Column, len(g.Curves))
		for i, curve := range g.Curves {
			columns[i] = bench.Column{Name: curve.Algorithm, Rows: curve.Rows}
		}
		title := fmt.Sprintf("%s, %d ranks, medians of %d", g.Collective, g.Ranks, f.repeat)
		if err := bench.WriteColumns(c.OutOrStdout(), title, bench.MicrosecondsTitle, columns); err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout())
	}
	return nil
}

// finish prints what is left to print, and writes the table.
func (f *tuneFlags) finish(c *cobra.Command, out *renameio.PendingFile, all []*tune.Figures) error {
	if f.json {
		if err := writeJSON(c.OutOrStdout(), all); err != nil {
			return err
		}
	}
	rows := tune.Choose(all)
	if out != nil {
		if err := writeTable(out, f.heading(), rows); err != nil {
			return err
		}
		return out.CloseAtomicallyReplace()
	}
	if f.json {
		return nil
	}
	return writeTable(c.OutOrStdout(), f.heading(), rows)
}

// heading says where a table comes from.
func (f *tuneFlags) heading() string {
	return fmt.Sprintf("# exanet tune --op %s --sizes %s --repeat %d, on %s\n# The first row that fits a call "+
		"counts: of at most so many bytes and ranks.", f.ops, f.sizes, f.repeat, kernel())
}

func writeTable(w io.Writer, heading string, rows []tune.Row) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n# The rows shared and direct are for blocking calls where ranks share memory; others pass "+
		"over them.\n%s\n", heading, coll.TableHead)
	if len(rows) == 0 {
		b.WriteString("# Nothing was faster than what is built in.\n")
	}
	for _, r := range rows {
		if r.Ratio == 1 {
			fmt.Fprintln(&b, r)
		} else {
			fmt.Fprintf(&b, "%-57s # %.2f of the time\n", r, r.Ratio)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// discard removes a file that has not been completed.
func discard(f *renameio.PendingFile) {
	if f != nil {
		_ = f.Cleanup()
	}
}

// create begins the file that has been asked for, nil if none has.
func (f *tuneFlags) create() (*renameio.PendingFile, error) {
	if f.file == "" {
		return nil, nil
	}
	out, err := atomicfile.Create(f.file)
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	return out, nil
}
