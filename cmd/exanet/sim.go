package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
	"github.com/exanet-mpi/exanet/variants"
)

func init() { commands = append(commands, simCommand) }

// simCommand returns "exanet sim" and what is below it.
func simCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "The prototype in virtual time: 128 FPGAs, or any other torus",
		Long: `Run benchmarks and programs on a simulation of the Exanet prototype: the same
protocols, in virtual time, on FPGAs in a torus whose links, mailboxes, packetizers
and RDMA engines take what the constants of the model say (exanet sim constants,
docs/simulation.md). The same command gives the same figures on every machine.`,
		Example: `  exanet sim bench latency --variant all --sizes 0:4096
  exanet sim bench bcast --ranks 64 --topology shuffled
  exanet sim bench barrier --ranks 4096 --torus 16x8x8
  exanet sim run -n 64 bin/cg -grid 16`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSimBench(), newSimRun(), newSimConstants())
	return cmd
}

// The values of --topology.
var topologies = []string{"same-qfdb", "3-hops", "5-hops", "ordered", "shuffled"}

// simFlags are the flags that say what to simulate.
type simFlags struct {
	ranks    rankCount
	topology string
	torus    string
	perNode  int
	seed     uint64
	set      []string
}

func (f *simFlags) add(cmd *cobra.Command) {
	x := cmd.Flags()
	x.StringVar(&f.topology, "topology", "", "where the ranks are: two ranks in the same-qfdb, or 3-hops or 5-hops "+
		"apart; any number ordered, or shuffled by --seed (default: ordered, two ranks same-qfdb)")
	x.StringVar(&f.torus, "torus", sim.Prototype().Torus.String(), "QFDBs in each dimension, of four FPGAs each")
	x.IntVar(&f.perNode, "per-fpga", 1, "ranks on an FPGA, up to 4, if they are ordered or shuffled")
	x.Uint64Var(&f.seed, "seed", 1, "of the shuffled placement, and of the noise if that is set")
	x.StringArrayVar(&f.set, "set", nil, "change a constant, as hop_outside=300 (see exanet sim constants); may be "+
		"given more than once")
}

// machine checks the flags and returns the machine and where the ranks are.
func (f *simFlags) machine() (m sim.Machine, p sim.Placement, err error) {
	m = sim.Prototype()
	if m.Torus, err = sim.ParseTorus(f.torus); err != nil {
		return m, nil, usageErrorf("--torus: %w", err)
	}
	for _, s := range f.set {
		name, value, _ := strings.Cut(s, "=")
		at := m.Costs.Named(name)
		if at == nil {
			return m, nil, usageErrorf("--set %s: there is no constant %q (see exanet sim constants)", s, name)
		}
		if *at, err = strconv.ParseFloat(value, 64); err != nil || !(*at >= 0) || *at > 1e12 {
			return m, nil, usageErrorf("--set %s: give a number from 0 on, as %s=100", s, name)
		}
		if m.Costs.Noise > 1 {
			return m, nil, usageErrorf("--set %s: it is a share, from 0 to 1", s)
		}
	}
	topology := f.topology
	if topology == "" {
		topology = "ordered"
		if f.ranks == 2 && f.perNode == 1 {
			topology = "same-qfdb"
		}
	}
	switch topology {
	case "same-qfdb":
		p = m.SameQFDB()
	case "3-hops", "5-hops":
		p, err = m.Apart(int(topology[0] - '0'))
	case "ordered":
		p, err = m.Ordered(int(f.ranks), f.perNode)
	case "shuffled":
		p, err = m.Shuffled(int(f.ranks), f.perNode, f.seed)
	default:
		return m, nil, usageErrorf("--topology %s: use one of %s", topology, strings.Join(topologies, ", "))
	}
	if err != nil {
		return m, nil, usageError{err}
	}
	if len(p) != int(f.ranks) {
		return m, nil, usageErrorf("--topology %s is one of two ranks, not %d: use ordered or shuffled", topology,
			f.ranks)
	}
	f.topology = topology
	return m, p, nil
}

// where describes the machine for titles.
func (f *simFlags) where() string {
	s := fmt.Sprintf("%d ranks, %s, torus %s", f.ranks, f.topology, f.torus)
	if f.perNode > 1 {
		s += fmt.Sprintf(", %d ranks an FPGA", f.perNode)
	}
	if len(f.set) > 0 {
		s += ", " + strings.Join(f.set, ", ")
	}
	return s
}

// kindsSent are the kinds of control messages that any of the results has.
func kindsSent(results []*variants.Counters) (kinds []variants.Kind) {
	for k := variants.RTS; k < variants.Kinds; k++ {
		if slices.ContainsFunc(results, func(c *variants.Counters) bool { return c.Control[k] > 0 }) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// writeControl prints the control messages by kind, a column for each name.
func writeControl(w io.Writer, names []string, results []*variants.Counters) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-15s", "# Control")
	for _, n := range names {
		fmt.Fprintf(&b, "%18s", n)
	}
	b.WriteByte('\n')
	for _, k := range kindsSent(results) {
		fmt.Fprintf(&b, "%-15s", k)
		for _, c := range results {
			fmt.Fprintf(&b, "%18d", c.Control[k])
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newSimConstants() *cobra.Command {
	return &cobra.Command{
		Use:   "constants",
		Short: "The constants of the simulated prototype, and where they come from",
		Example: `  exanet sim constants
  exanet sim bench latency --set hop_outside=300 --topology 5-hops`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m := sim.Prototype()
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tVALUE\tUNIT\tSOURCE\tMEANING")
			for _, c := range m.Costs.Table() {
				fmt.Fprintf(w, "%s\t%g\t%s\t%s\t%s\n", c.Name, *c.Value, c.Unit, c.Source, c.Meaning)
			}
			return w.Flush()
		},
	}
}

// simVariants reads the value of --variant of simulations; if it is not given, that of
// EXANET_VARIANT counts, as for ranks on a host. It looks at the other settings as well.
func simVariants(value string) (names []string, err error) {
	names = []string{cmp.Or(os.Getenv(env.Variant), mpi.DefaultVariant)}
	if value != "" {
		if names, err = someOf("variant", value, mpi.Variants()); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		set := []string{env.Variant + "=" + name}
		for _, other := range []string{env.Bands, env.Coll, env.Check} {
			set = append(set, other+"="+os.Getenv(other))
		}
		if err := checkSettings(set, false); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// simulate runs a program on a machine.
func simulate(m sim.Machine, p sim.Placement, variant string, seed uint64, opts []mpi.Option,
	main func(*mpi.Comm) error) (*virtual.Result, error) {
	return virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant, Seed: seed, Options: opts}, main)
}
