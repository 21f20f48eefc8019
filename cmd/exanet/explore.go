package main

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/check/explore"
	"github.com/exanet-mpi/exanet/check/world"
)

func init() { commands = append(commands, newExplore) }

// exploration is the command line of exanet explore.
type exploration struct {
	variant  string
	alphabet string
	ops      int
	ranks    int
	sample   int
	seed     uint64
	pieces   int
	capacity int
}

func newExplore() *cobra.Command {
	var x exploration
	c := &cobra.Command{
		Use:   "explore",
		Short: "Try small programs in every order of events",
		Long: `Explore runs small MPI programs over a protocol in every order in which messages
can be delivered, writes can land and notifications can be seen, and checks that
what comes out is MPI. If something is wrong, it prints the smallest program and
order that show it, as a scenario file for exanet chart.

With two ranks all programs of an alphabet are tried, or with --sample that many
random ones; with three, random ones only.

The protocols are those of exanet run, some of them over other devices or with a
fast path as well (docs/exploring.md):
` + explored() + `.
Without --variant it is ticket, which most of them are built on. It is not auto,
the default of exanet run: auto is ticket with choices of its own, and exploring it
takes about three times as long.`,
		Example: `  exanet explore --variant ticket --ops 2
  exanet explore --variant rtr --ops 4 --sample 1000 --seed 7
  exanet explore --variant envless --ops 3 --ranks 3 --sample 100`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return x.run(c) },
	}
	f := c.Flags()
	f.StringVar(&x.variant, "variant", world.Protocols[0].Name, "protocol, one of those above")
	_ = c.RegisterFlagCompletionFunc("variant", cobra.FixedCompletions(world.ProtocolNames(),
		cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&x.alphabet, "alphabet", "", "reduced (one rank sends, one receives) or full (default full, of 3 "+
		"operations reduced)")
	f.IntVar(&x.ops, "ops", 2, "operations of each rank, at most")
	f.IntVar(&x.ranks, "ranks", 2, "ranks: 2 or 3")
	f.IntVar(&x.sample, "sample", 0, "random programs instead of all (default 1000 with 3 ranks)")
	f.Uint64Var(&x.seed, "seed", 1, "of the random programs")
	f.IntVar(&x.pieces, "pieces", 1, "pieces in which the data of a write lands: 1 or 2")
	f.IntVar(&x.capacity, "capacity", 0, "messages that a mailbox holds of one sender; 0: no limit")
	return c
}

// explored lists the protocols in lines of a help text.
func explored() string {
	var lines []string
	for names := range slices.Chunk(world.ProtocolNames(), 4) {
		lines = append(lines, "  "+strings.Join(names, ", "))
	}
	return strings.Join(lines, ",\n")
}

func (x *exploration) run(c *cobra.Command) error {
	p, err := world.ProtocolNamed(x.variant)
	if err != nil {
		return usageError{err}
	}
	cfg := p.Config(x.ranks)
	cfg.Pieces, cfg.Capacity = x.pieces, x.capacity
	programs, about, total, err := x.programs(cfg)
	if err != nil {
		return err
	}
	progress := newProgress(c, total, "exploring", progressbar.OptionShowCount())
	begun := time.Now()
	stats, failure := explore.Run(cfg, programs, false, func(s explore.Stats) { progress.add(s.Programs) })
	progress.end()
	out := c.OutOrStdout()
	if failure != nil {
		failure = explore.Minimal(failure)
		fmt.Fprint(out, failure.Scenario(p.Name))
		return fmt.Errorf("%s, %s: %w", p.Name, about, failure)
	}
	took := time.Since(begun)
	_, err = fmt.Fprintf(out, "%s, %s: nothing wrong\n%s programs, %s states, %s transitions in %.1f s (%s/s)\n",
		p.Name, about,
		humanize.Comma(int64(stats.Programs)), humanize.Comma(int64(stats.States)),
		humanize.Comma(int64(stats.Transitions)),
		took.Seconds(), humanize.Comma(int64(float64(stats.Transitions)/max(took.Seconds(), 1e-9))))
	return err
}

// programs returns what to explore, a name for it, and how many programs it is.
func (x *exploration) programs(cfg world.Config) (programs iter.Seq[explore.Family], about string, total int,
	err error) {
	alphabet := explore.Full
	switch {
	case x.ops < 1 || x.ops > 6:
		return nil, "", 0, usageErrorf("--ops is from 1 to 6")
	case x.pieces < 1 || x.pieces > 2:
		return nil, "", 0, usageErrorf("--pieces is 1 or 2")
	case x.capacity < 0 || x.capacity > 15:
		return nil, "", 0, usageErrorf("--capacity is from 0 to 15")
	case x.ranks < 2 || x.ranks > 3:
		return nil, "", 0, usageErrorf("--ranks is 2 or 3")
	case x.sample < 0:
		return nil, "", 0, usageErrorf("--sample is a number of programs")
	case x.alphabet != "" && x.alphabet != "full" && x.alphabet != "reduced":
		return nil, "", 0, usageErrorf("--alphabet is reduced or full")
	case x.ranks == 3:
		if x.alphabet == "reduced" {
			return nil, "", 0, usageErrorf("the reduced alphabet has two ranks")
		}
		alphabet = explore.Mixed
		if x.sample == 0 {
			x.sample = 1000
		}
	case x.alphabet == "reduced" || x.alphabet == "" && x.ops > 2 && x.sample == 0:
		alphabet = explore.Reduced
	}
	alphabet = alphabet.Without(cfg)
	if x.sample > 0 {
		return explore.Singles(explore.Allowed(cfg, alphabet.Sample(x.ops, x.sample, x.seed))),
			fmt.Sprintf("sample of %d programs of %d operations a rank, %s alphabet, seed %d", x.sample, x.ops,
				alphabet.Name, x.seed), x.sample, nil
	}
	if n := len(alphabet.Ranks[0]); x.ops > 3 || x.ops == 3 && n > 8 {
		return nil, "", 0, usageErrorf("there are too many programs of %d operations of the %s alphabet: give --sample",
			x.ops, alphabet.Name)
	}
	programs = alphabet.Programs(cfg, x.ops)
	for f := range programs {
		total += f.Size
	}
	return programs, fmt.Sprintf("all programs of up to %d operations a rank, %s alphabet", x.ops, alphabet.Name),
		total, nil
}
