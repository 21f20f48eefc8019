package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/mpi/inside"
)

func init() { commands = append(commands, newRun) }

func newRun() *cobra.Command {
	var (
		ranks           rankCount
		nodes           nodeCount
		label           bool
		timeout         time.Duration
		variant, device string
		hosts           string
		shell           shellFlag
	)
	c := &cobra.Command{
		Use:   "run -n N [flags] PROG [ARGS...]",
		Short: "Run a program as N ranks, on this host or on several",
		Long: `Run starts N processes of a program, the ranks of a job, and waits for them.

Rank 0 reads the standard input. Output is passed on whole lines at a time.
SIGINT, SIGTERM, SIGHUP, SIGUSR2 and their like go to all ranks; whatever is
left two seconds after SIGINT or SIGTERM, or at the second SIGINT, is killed.
SIGUSR1 or SIGQUIT (^\) shows what each rank waits for.

If a rank fails, the others are ended within two seconds; if they print much more,
the last line says again which was the first. The exit code is that
of the first rank that failed (128 + N for signal N), 0 if none did; 127 or 126
if the program cannot be started, 2 for a mistake in the command line or in an
EXANET_ variable, 124 if the job has timed out.

With --device registers exanet plays the prototype's hardware: the ranks drive its
registers, and --nodes says on how many nodes they are, consecutive ranks on the same;
a rank reaches those of other nodes by node ID alone (docs/registers.md). With --device
registers:PATH the ranks drive the registers that are there, also with --hosts
(docs/devices.md).

With --hosts the ranks run on other hosts, in the order of the list, and talk over
TCP to those of other hosts. exanet is started there by ssh, under the path that it has
here, and the program in the directory that this is, with this environment. If hosts
have several networks, EXANET_NETWORK says which are used, as eth1,10.77.2.0/24. A host
from which nothing has come for five seconds is dead; EXANET_SILENCE says another time,
as 30s (docs/hosts.md).

EXANET_CHECK=1 has the ranks look for mistakes in how the program uses MPI
(docs/checking.md). EXANET_DISABLE and EXANET_VERBOSE are the preload library's
(docs/preload.md); programs in Go do not heed them.`,
		Example: `  exanet run -n 4 ./hello
  exanet run -n 2 --label python3 script.py --its-own-flag
  exanet run -n 4 --timeout 60s ./test
  exanet run -n 4 --device prototype ./hello < input.txt
  exanet run -n 8 --device registers --nodes 4 ./hello
  exanet run --hosts node1:2,node2:2 ./hello`,
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case ranks == 0 && !c.Flags().Changed("hosts"):
				return usageErrorf("how many ranks? Say -n N (see exanet run --help)")
			case timeout < 0:
				return usageErrorf("--timeout %v: want a time that is not negative, as 90s", timeout)
			case len(args) == 0:
				return usageErrorf("which program? It comes after the flags (see exanet run --help)")
			}
			if err := shell.check(c); err != nil {
				return err
			}
			return checkRanks(int(ranks))
		},
		RunE: func(c *cobra.Command, args []string) error {
			env := os.Environ()
			if variant != "" {
				env = append(env, "EXANET_VARIANT="+variant)
			}
			if device != "" {
				env = append(env, "EXANET_DEVICE="+device)
			}
			cfg := launch.Config{
				Ranks: int(ranks), Nodes: int(nodes), Prog: args[0], Args: args[1:], Env: env, Label: label,
				Timeout: timeout,
				Stdin:   os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			}
			onHosts := c.Flags().Changed("hosts")
			if err := checkNodes(nodes, deviceOf(env), onHosts, int(ranks)); err != nil {
				return err
			}
			if onHosts {
				return runOnHosts(c.Context(), cfg, hosts, shell)
			}
			return runJob(c.Context(), cfg)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // flags after PROG are the program's
	f.VarP(&ranks, "ranks", "n", "number of ranks")
	f.BoolVar(&label, "label", false, `put "[rank] " before each line of output`)
	f.DurationVar(&timeout, "timeout", 0, "how long the job may take, as 90s or 5m; then it says what its ranks wait "+
		"for,\nand is ended (default: for ever)")
	f.StringVar(&variant, "variant", "", "protocol: "+strings.Join(mpi.Variants(), ", ")+" (default "+
		mpi.DefaultVariant+", or $EXANET_VARIANT)")
	f.StringVar(&device, "device", "", "fabric: "+strings.Join(mpi.Devices(), ", ")+
		",\nregisters:PATH (default host, or $EXANET_DEVICE); see exanet info")
	f.Var(&nodes, "nodes", "with --device registers: how many nodes the emulated machine has (default 1)")
	f.StringVar(&hosts, "hosts", "", "where the ranks run, as node1:2,node2:2; a host without a number has\n"+
		"one, and an address of IPv6 needs a name")
	shell.add(c)
	return c
}

func checkRanks(n int) error {
	if n > host.MaxRanks {
		return usageErrorf("%d ranks are too many: one host takes up to %d", n, host.MaxRanks)
	}
	return nil
}

// within is what package mpi does for this module alone.
var within = inside.MPI.(*inside.Functions[mpi.Comm, mpi.Request, mpi.Message, mpi.Option])

// checkSettings says once, before there are ranks, what each of them would say of its
// environment. With here the ranks run on this host.
func checkSettings(env []string, here bool) error {
	if err := within.CheckSettings(env, here); err != nil {
		return usageError{err}
	}
	return nil
}

// deviceOf is the value of EXANET_DEVICE in an environment, of several the last.
func deviceOf(env []string) (device string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "EXANET_DEVICE="); ok {
			device = v
		}
	}
	return device
}

// checkNodes checks --nodes, given the device of the ranks and, unless 0, their number.
func checkNodes(nodes nodeCount, device string, hosts bool, ranks int) error {
	switch {
	case nodes == 0:
		return nil
	case hosts:
		return usageErrorf("--nodes %d: with --hosts each host is a node, so leave --nodes away; --device "+
			"registers:PATH says where the registers of each are", nodes)
	case strings.HasPrefix(device, "registers:"):
		return usageErrorf("--nodes %d: it is for the model that --device registers has, so leave it away; of "+
			"--device registers:A,B each path is a node", nodes)
	case device != "registers":
		return usageErrorf("--nodes %d: it is for --device registers, whose nodes are all on this host", nodes)
	case ranks != 0 && int(nodes) > ranks:
		return usageErrorf("--nodes %d: each node has at least one rank, and there are %d", nodes, ranks)
	}
	return nil
}

func runJob(ctx context.Context, cfg launch.Config) error {
	if err := checkSettings(cfg.Env, true); err != nil {
		return err
	}
	j, err := launch.Start(ctx, cfg)
	if err != nil {
		return err
	}
	return j.Wait()
}

// launchSelf runs this program as the ranks of a job, with args as its command
// line: a hidden subcommand that calls mpi.Init. env is added to the
// environment. What the ranks print goes to out, their errors and the job's own
// to the standard error. The error is that of launch.Start or Job.Wait.
func launchSelf(ctx context.Context, ranks int, args []string, env []string, out io.Writer) error {
	if err := checkRanks(ranks); err != nil {
		return err
	}
	return runJob(ctx, launch.Config{
		Ranks: ranks, Prog: self(), Args: args, Env: append(os.Environ(), env...),
		Stdout: out, Stderr: os.Stderr,
	})
}

// self is the path of this program, under its own name if that still leads to
// it: it may have been replaced by a newer one.
func self() string {
	const running = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil { // no /proc: as the shell has found it
		if path, err = exec.LookPath(os.Args[0]); err == nil {
			return path
		}
		return running
	}
	named, err := os.Stat(path)
	if err != nil {
		return running
	}
	if real, err := os.Stat(running); err != nil || !os.SameFile(named, real) {
		return running
	}
	return path
}
