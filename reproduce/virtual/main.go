package virtual

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/mpi"
)

// Job is what exanet sim run tells the program, as JSON in the file whose descriptor env.Sim is. The
// program puts a Summary in its place.
type Job struct {
	Torus     sim.Torus
	Costs     sim.Costs
	Placement sim.Placement
	Variant   string
	Seed      uint64
}

// Summary is what the program tells exanet sim run: the result but for its traces, or
// why there is none.
type Summary struct {
	Result Result
	Err    string
}

// Simulated reports whether Main runs its function in virtual time.
func Simulated() bool { return os.Getenv(env.Sim) != "" }

// Main runs main and is the last call of a program's main function. In a program that
// exanet sim run has started it runs main as every rank of the simulated job, in this
// process and in virtual time; in any other it is mpi.Main.
// If main fails, Main prints the error and ends the process with exit code 1.
func Main(main func(world *mpi.Comm) error, opts ...mpi.Option) {
	if !Simulated() {
		mpi.Main(main, opts...)
	} else if err := simulate(main, opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func simulate(main func(world *mpi.Comm) error, opts []mpi.Option) error {
	text := os.Getenv(env.Sim)
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 {
		return fmt.Errorf("%s=%q is not a file descriptor: start the program with exanet sim run", env.Sim, text)
	}
	file := os.NewFile(uintptr(fd), env.Sim)
	var job Job
	if err := json.NewDecoder(file).Decode(&job); err != nil {
		return fmt.Errorf("%s=%s: %w: start the program with exanet sim run", env.Sim, text, err)
	}
	r, err := Run(Config{
		Machine: sim.Machine{Torus: job.Torus, Costs: job.Costs}, Placement: job.Placement,
		Variant: job.Variant, Seed: job.Seed, Options: opts,
	}, main)
	var s Summary
	if r != nil {
		s.Result = *r
	}
	if err != nil {
		s.Err = err.Error()
	}
	return errors.Join(err, s.write(file))
}

// write puts the summary into the file that the job was in.
func (s *Summary) write(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(s), file.Close())
}
