package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/launch/preload"
)

func init() { commands = append(commands, newCompare) }

func newCompare() *cobra.Command {
	var (
		f    preloadFlags
		runs int
		json bool
	)
	c := &cobra.Command{
		Use:   "compare [flags] [--] COMMAND [ARGS...]",
		Short: "Time a program built with MPICH or Open MPI without and with this stack",
		Long: `Compare runs a command as it is and as exanet preload runs it, in turn, and prints
what each takes from start to end. If the program prints tables as the OSU
benchmarks do, lines of numbers below lines with #, the medians of each figure and
their ratio follow. A ratio is that of the medians, with the library to without.
The command's input is empty.

If the exit codes differ, or the outputs (numbers aside, where they change from
run to run even without the library), a line says so; the exit code is 1 then if
the exit codes differ. What the library itself has to say, that the program runs over
its own MPI for instance, is repeated. If the command fails by itself, its code is
that of compare.`,
		Example: `  exanet compare -- mpirun.mpich -np 2 ./osu_latency
  exanet compare --runs 11 --json -- mpirun.openmpi -np 4 ./app > app.json`,
		Args: func(c *cobra.Command, args []string) error {
			if runs < 1 {
				return usageErrorf("--runs %d: use 1 or more", runs)
			}
			return f.check(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			p, err := f.plan(c, args)
			if err != nil {
				return err
			}
			report, err := compareRuns(c, args, p, runs)
			if err != nil {
				return err
			}
			if report.Outputs != "" {
				fmt.Fprintln(c.ErrOrStderr(), "exanet: warning: "+report.Outputs)
			}
			if json {
				err = writeJSON(c.OutOrStdout(), report)
			} else {
				err = report.Write(c.OutOrStdout())
			}
			if err == nil && report.Codes != "" {
				err = errors.New(report.Codes)
			}
			return err
		},
	}
	f.add(c)
	c.Flags().IntVar(&runs, "runs", 5, "runs each way")
	c.Flags().BoolVar(&json, "json", false, "print JSON, with the figures of every run")
	return c
}

// ownWords is the first line that the library itself has said in one of the runs: that the
// program has run over its own MPI, for instance.
func ownWords(runs []compare.Outcome) string {
	for _, o := range runs {
		for line := range strings.Lines(o.Said) {
			if strings.HasPrefix(line, "exanet: ") {
				return strings.TrimSuffix(line, "\n")
			}
		}
	}
	return ""
}

// compareRuns runs the command without and with the library.
func compareRuns(c *cobra.Command, words []string, p *preload.Command, runs int) (*compare.Report, error) {
	ctx, stop := interruptible(c.Context())
	defer stop()
	ways := [2]compare.Way{
		{Name: "without", Path: p.Path, Words: words, Env: preload.Without(os.Environ())},
		{Name: "with", Path: p.Path, Words: p.Words, Env: p.Env},
	}
	progress := newProgress(c, 2*runs, "running")
	outcomes, err := compare.Run(ctx, ways, runs, func() { progress.add(1) })
	progress.end()
	if err != nil {
		return nil, err
	}
	if line := ownWords(outcomes[1]); line != "" {
		fmt.Fprintln(c.ErrOrStderr(), line)
	}
	return compare.NewReport(strings.Join(words, " "), ways, outcomes), nil
}
