package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
	"github.com/exanet-mpi/exanet/variants"
)

func newSimRun() *cobra.Command {
	var f simFlags
	var variant string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "run -n N [flags] PROG [ARGS...]",
		Short: "Run a Go program as N ranks of the simulated prototype",
		Long: `Run a program in virtual time: one process, in which all its ranks take turns. The
program must be built for it, that is, call virtual.Main instead of mpi.Init and
mpi.Finalize, read the time from Comm.Now, and tell by Comm.Compute how long it
computes; examples/cg is such a program. The same program runs under exanet run.

What it prints is passed on. Then the virtual time, the share of fast receives and
the control messages follow, on the standard error.`,
		Example: `  exanet sim run -n 64 bin/cg -grid 16
  exanet sim run -n 512 --per-fpga 4 --variant readbased bin/cg -grid 8`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.ranks == 0:
				return usageErrorf("how many ranks? Say -n N (see exanet sim run --help)")
			case len(args) == 0:
				return usageErrorf("which program? It comes after the flags (see exanet sim run --help)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := simVariants(variant)
			if err == nil && len(names) != 1 {
				err = usageErrorf("--variant: a program runs with one protocol")
			}
			if err != nil {
				return err
			}
			m, p, err := f.machine()
			if err != nil {
				return err
			}
			job := virtual.Job{Torus: m.Torus, Costs: m.Costs, Placement: p, Variant: names[0], Seed: f.seed}
			s, err := runSimulated(cmd, job, args)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.ErrOrStderr(), s.Result)
			}
			r := &s.Result
			w := cmd.ErrOrStderr()
			fmt.Fprintf(w, "# exanet sim run %s, %s, %s\n", args[0], f.where(), names[0])
			fmt.Fprintf(w, "virtual time   %18.6f s\n", r.Time.Seconds())
			fmt.Fprintf(w, "fast receives  %18.2f in 100 of %d\n", 100*r.FastShare(), r.Counters.Receives)
			fmt.Fprintf(w, "bytes written  %18d in %d writes\n", r.Bytes, r.Counters.Writes)
			return writeControl(w, names, []*variants.Counters{&r.Counters})
		},
	}
	f.add(cmd)
	x := cmd.Flags()
	x.SetInterspersed(false) // flags after PROG are the program's
	x.VarP(&f.ranks, "ranks", "n", "number of ranks")
	x.StringVar(&variant, "variant", "", "protocol (default "+mpi.DefaultVariant+", or $EXANET_VARIANT)")
	x.BoolVar(&asJSON, "json", false, "print the result as JSON, on the standard error")
	return cmd
}

// runSimulated runs a program and returns what it tells at its end.
func runSimulated(cmd *cobra.Command, job virtual.Job, args []string) (*virtual.Summary, error) {
	program, err := launch.FindProgram(args[0])
	if err != nil {
		return nil, err
	}
	place, err := os.CreateTemp("", "exanet-sim-*")
	if err != nil {
		return nil, err
	}
	defer place.Close()
	_ = os.Remove(place.Name()) // it has no name: nothing is left of it whatever happens
	if err := json.NewEncoder(place).Encode(job); err != nil {
		return nil, err
	}
	if _, err := place.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	c := exec.CommandContext(cmd.Context(), program, args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
	c.ExtraFiles = []*os.File{place}
	runtime.LockOSThread() // with which the program ends, however that is
	defer runtime.UnlockOSThread()
	c.SysProcAttr = sys.WithParent(syscall.SysProcAttr{})
	c.Env = append(os.Environ(), env.Sim+"=3")
	ended := c.Run()
	var exit *exec.ExitError
	if ended != nil && !errors.As(ended, &exit) {
		return nil, notStarted{args[0], ended}
	}
	if _, err := place.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var s virtual.Summary
	if err := json.NewDecoder(place).Decode(&s); (err != nil || len(s.Result.Ranks) == 0) && ended == nil {
		return nil, fmt.Errorf("%s has not run in virtual time: build it for that, with virtual.Main (see exanet sim "+
			"run --help)", args[0])
	}
	if ended != nil {
		return nil, exitError{exit.ExitCode()} // it has said why
	}
	return &s, nil
}

// notStarted is a file that cannot be executed, with the exit code of a shell.
type notStarted struct {
	prog string
	err  error
}

func (e notStarted) Error() string {
	cause := e.err
	if path := new(fs.PathError); errors.As(cause, &path) {
		cause = path.Err
	}
	return fmt.Sprintf("cannot start %s: %v", e.prog, cause)
}

func (notStarted) ExitCode() int { return 126 }

// exitError is the exit code of a program, which has told why.
type exitError struct{ code int }

func (e exitError) Error() string {
	return fmt.Sprintf("the program has ended with exit code %d", e.code)
}

// ExitCode is the program's.
func (e exitError) ExitCode() int {
	if e.code < 0 {
		return exitFailure
	}
	return e.code
}
