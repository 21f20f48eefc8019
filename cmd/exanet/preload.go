package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/launch/preload"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { commands = append(commands, newPreload) }

// preloadFlags are what preload and compare have in common.
type preloadFlags struct {
	mpi, lib string
	verbose  bool
	env      []string // for the ranks, beside the environment of this process
}

func (f *preloadFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.SetInterspersed(false) // flags after the first word are the command's
	flags.StringVar(&f.mpi, "mpi", "", "the MPI that the program uses, mpich, openmpi or abi, if it cannot be "+
		"found out")
	flags.StringVar(&f.lib, "lib", "", "directory of the library (default that of exanet, bin in it, or bin of the "+
		"checkout)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print the command that is run")
}

// check is that of the commands' arguments.
func (f *preloadFlags) check(c *cobra.Command, args []string) error {
	switch {
	case f.mpi != "" && !slices.Contains(preload.MPIs, preload.MPI(f.mpi)):
		return usageErrorf("there is no library for %q: choose mpich, openmpi or abi", f.mpi)
	case len(args) == 0:
		return usageErrorf("which command? It comes after the flags (see %s --help)", c.CommandPath())
	}
	return nil
}

// plan returns the command with the library preloaded.
func (f *preloadFlags) plan(c *cobra.Command, words []string) (*preload.Command, error) {
	if err := sys.Processes(); err != nil {
		return nil, err
	}
	dirs := []string{f.lib}
	if f.lib == "" {
		here, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		dirs = preload.Dirs(self(), here)
	}
	environ := os.Environ()
	for _, set := range f.env { // once each: of several, C programs take the first
		name, _, _ := strings.Cut(set, "=")
		environ = slices.DeleteFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		environ = append(environ, set)
	}
	if err := checkSettings(environ, false); err != nil { // the ranks may be on other hosts
		return nil, err
	}
	p, err := preload.Plan(preload.Config{Words: words, Env: environ, MPI: preload.MPI(f.mpi), Dirs: dirs})
	if err == nil && f.verbose {
		printCommand(c.ErrOrStderr(), p)
	}
	return p, err
}

// model is the hardware of --device registers, if that is what the flag says, nil else.
func (f *preloadFlags) model(c *cobra.Command, words []string, device string, nodes nodeCount) (*regs.Device, error) {
	if device == "" {
		return nil, nil
	}
	if device != "registers" {
		f.env = append(f.env, env.Device+"="+device)
		return nil, nil
	}
	quiet := *f
	quiet.verbose = false
	p, err := quiet.plan(c, words) // how many ranks there will be
	if err != nil {
		return nil, err
	}
	if err := checkNodes(nodes, device, false, p.Ranks); err != nil {
		return nil, err
	}
	m, value, err := launch.NewModel(max(int(nodes), 1), p.Ranks)
	f.env = append(f.env, env.Device+"="+value)
	return m, err
}

func newPreload() *cobra.Command {
	var f preloadFlags
	var timeout time.Duration
	var device string
	var nodes nodeCount
	c := &cobra.Command{
		Use:   "preload [flags] [--] COMMAND [ARGS...]",
		Short: "Run a program built with MPICH or Open MPI over this stack",
		Long: `Preload runs a command, mpirun and its like or a program without one, so that the
MPI programs in it exchange their messages over this stack: with the library
that make preload builds in LD_PRELOAD of the programs; and of the launcher, if
that is Hydra, whose ranks can hand cores over by yields then (docs/preload.md).

Which MPI it is, is found out from the libraries that the programs are linked
to; for scripts from the modules that they import, the programs that they run,
or the launcher. Launchers are Hydra's (MPICH), orterun and prterun (Open MPI)
and srun, also behind others as in "timeout 60 mpirun ...". EXANET_ variables are
passed on; what is in LD_PRELOAD already stays there.

The command takes the place of this process: signals and exit code are its own.
127 or 126 if it cannot be started, 2 if the library can do nothing for it, or for a
mistake in the command line or in an EXANET_ variable.

With --device registers this process plays the prototype's hardware, and the ranks
drive its registers: all that they say goes through packetizers, mailboxes and the
RDMA engine. --nodes says on how many nodes they are, consecutive ranks on the same.
EXANET_DEVICE=registers is the same as the flag.
With hardware, EXANET_DEVICE=registers:PATH says where that is (docs/devices.md).

With --timeout or a model of the hardware the command is a child of this process, which
passes signals on. If it takes longer than the timeout, the ranks of this host say what
they wait for, and it gets SIGTERM, and SIGKILL two seconds later; the exit code is 124
then.`,
		Example: `  exanet preload -- mpirun -np 4 ./app
  EXANET_VERBOSE=1 exanet preload mpirun.mpich -np 1 ./master : -np 3 ./worker
  exanet preload -v -- mpirun.openmpi -np 2 python3 script.py
  exanet preload --timeout 60s -- mpirun -np 4 ./test
  exanet preload --device registers --nodes 4 mpirun -np 4 ./app
  exanet preload --mpi openmpi -- mpirun -np 2 ./loads-its-mpi-late`,
		Args: func(c *cobra.Command, args []string) error {
			if timeout < 0 {
				return usageErrorf("--timeout %v: want a time that is not negative, as 90s", timeout)
			}
			if device == "" && os.Getenv(env.Device) == "registers" { // this process plays the hardware, as that of run
				device = "registers"
			}
			if err := checkNodes(nodes, cmp.Or(device, os.Getenv(env.Device)), false, 0); err != nil {
				return err
			}
			return f.check(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			model, err := f.model(c, args, device, nodes)
			if err != nil {
				return err
			}
			if model != nil {
				defer model.Close()
			}
			if timeout != 0 || model != nil {
				return f.runChild(c, args, timeout)
			}
			p, err := f.plan(c, args)
			if err != nil {
				return err
			}
			return fmt.Errorf("cannot start %s: %w", p.Path, syscall.Exec(p.Path, p.Words, p.Env))
		},
	}
	f.add(c)
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long the command may take, as 90s or 5m (default: for ever)")
	c.Flags().StringVar(&device, "device", "", "fabric of the ranks: "+strings.Join(mpi.Devices(), ", ")+
		",\nregisters:PATH (default host, or $EXANET_DEVICE)")
	c.Flags().Var(&nodes, "nodes", "with --device registers: how many nodes the emulated machine has (default 1)")
	return c
}

// printCommand prints a command as one types it, with what is new in its environment.
func printCommand(w io.Writer, p *preload.Command) {
	var words []string
	for _, v := range p.Env {
		if !slices.Contains(os.Environ(), v) {
			name, value, _ := strings.Cut(v, "=")
			words = append(words, name+"="+quote(value))
		}
	}
	for _, word := range p.Words {
		words = append(words, quote(word))
	}
	fmt.Fprintln(w, "exanet: "+strings.Join(words, " "))
}

// quote makes one word of s for a shell.
func quote(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./=:,+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
