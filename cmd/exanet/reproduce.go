package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/reproduce"
)

func init() { commands = append(commands, newReproduce) }

func newReproduce() *cobra.Command {
	var cfg reproduce.Config
	c := &cobra.Command{
		Use:   "reproduce",
		Short: "Run the evaluations of the thesis and of Small and Yuan on the simulated prototype",
		Long: `Reproduce simulates what chapter 4 of the thesis measures, and what Small and Yuan
measure (docs/who-comes-first.md), holds it against what the texts say claim by
claim, and writes a table (claims.csv) and a page for each with the figures redrawn
(report.html, small-yuan.html). It uses all processors, and two runs write the same.
The full form takes up to half an hour, --quick some minutes, --paper small-yuan
seconds.`,
		Example: `  exanet reproduce --out /tmp/report --quick
  exanet reproduce --out /tmp/report --paper small-yuan
  exanet reproduce fit`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Out == "" {
				return usageErrorf("reproduce needs a directory to write to: --out DIR")
			}
			if papers := []string{"", reproduce.Thesis, reproduce.SmallYuan}; !slices.Contains(papers, cfg.Paper) {
				return usageErrorf("--paper: there is no paper %q: use %s or %s", cfg.Paper, papers[1], papers[2])
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			progress := newProgress(cmd, 1, "")
			cfg.Progress = progress.at
			err := reproduce.Run(ctx, cfg)
			progress.end()
			if errors.Is(err, reproduce.ErrFolder) {
				return usageErrorf("--out %s: %w", cfg.Out, err)
			} else if err != nil {
				return err
			}
			pages := map[string]string{"": "report.html and small-yuan.html", reproduce.Thesis: "report.html",
				reproduce.SmallYuan: "small-yuan.html"}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote claims.csv, %s to %s\n", pages[cfg.Paper], cfg.Out)
			return nil
		},
	}
	c.Flags().StringVar(&cfg.Out, "out", "", "directory for claims.csv and the pages")
	c.Flags().StringVar(&cfg.Paper, "paper", "", "only that of one paper: thesis or small-yuan")
	c.Flags().BoolVar(&cfg.Quick, "quick", false, "fewer sizes, ranks and iterations")
	c.AddCommand(newReproduceFit())
	return c
}

func newReproduceFit() *cobra.Command {
	return &cobra.Command{
		Use:   "fit",
		Short: "Fit the constants of the simulated prototype to the calibration rows",
		Long: `Fit varies some constants of the simulated prototype so that the rows of kind
calibration come out as well as they can, and prints them. It sees no other row.
The defaults of the simulator are what it has found; a fit starts from them.`,
		Example: `  exanet reproduce fit`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			progress := newProgress(cmd, 0, "fitting")
			fit, err := reproduce.FitConstants(ctx, sim.DefaultCosts())
			progress.end()
			if err != nil {
				return err
			}
			return fit.Write(cmd.OutOrStdout())
		},
	}
}
