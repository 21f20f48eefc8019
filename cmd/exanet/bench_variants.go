package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
)

// Protocols side by side: all ranks of a job use one protocol, so each figure
// comes from a job of its own.

const variantHelp = `With --variant, jobs of several protocols are run in turn, in rounds, there and
back, so that all see the same machine. There is a column for each, of medians of
the rounds (--repeat, then 5 if not given), and another of the ratios to readbased.`

const (
	variantRounds = 5
	variantBase   = "readbased" // what the thesis compares with
)

// comparedFigures is what --json prints with --variant.
type comparedFigures struct {
	Benchmark string         `json:"benchmark"`
	Unit      string         `json:"unit"`
	Ranks     int            `json:"ranks"`
	Variants  []bench.Column `json:"variants"`
}

// compareVariants measures the protocols that value names, and prints them.
func compareVariants(cmd *cobra.Command, f *sweepFlags, value, unit, column string) error {
	if inJob() {
		return usageErrorf("%s --variant starts its own jobs: call it outside a job", cmd.CommandPath())
	}
	names, err := someOf("variant", value, mpi.Variants())
	if err != nil {
		return err
	}
	columns := make([]bench.Column, len(names))
	for i, name := range names {
		columns[i].Name = name
	}
	if err := inRounds(cmd, f.repeat, len(columns), func(i int) error {
		if err := f.measureOnce(cmd.Context(), cmd.Name(), &columns[i]); err != nil {
			return fmt.Errorf("protocol %s: %w", columns[i].Name, err)
		}
		return nil
	}); err != nil {
		return err
	}
	if f.json {
		return writeJSON(cmd.OutOrStdout(), comparedFigures{cmd.Name(), unit, f.ranks, columns})
	}
	if err := bench.WriteColumns(cmd.OutOrStdout(), title(cmd, f.ranks, f.repeat), column, columns); err != nil {
		return err
	}
	return bench.WriteRatios(cmd.OutOrStdout(), variantBase, columns)
}

// inRounds calls measure with the numbers of n contenders in so many rounds, there and back: what changes on the
// machine meanwhile changes for all.
func inRounds(cmd *cobra.Command, rounds, n int, measure func(i int) error) error {
	progress := newProgress(cmd, rounds*n, "measuring")
	defer progress.end()
	for round := range rounds {
		for i := range n {
			if round%2 == 1 {
				i = n - 1 - i
			}
			if err := measure(i); err != nil {
				return err
			}
			progress.add(1)
		}
	}
	return nil
}

// measureOnce runs a job that makes one sweep with a column's protocol, and
// adds its figures to the column.
func (f *sweepFlags) measureOnce(ctx context.Context, benchmark string, c *bench.Column) error {
	args := []string{"bench", benchmark, "--sizes=" + f.sizes, "--json",
		fmt.Sprintf("--iterations=%d", f.iterations), fmt.Sprintf("--warmup=%d", f.warmup)}
	var out bytes.Buffer
	if err := launchSelf(ctx, f.ranks, args, []string{"EXANET_VARIANT=" + c.Name}, &out); err != nil {
		return err
	}
	var got figures
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return fmt.Errorf("its ranks printed %q: %w", out.String(), err)
	}
	c.Add(got.Rows)
	return nil
}
