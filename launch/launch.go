// Package launch runs the ranks of a job as processes of this host.
//
// The life of a job:
//
//	Start       makes the job segment (emu/host), then for each rank a control
//	            socket, two output pipes and the process (rank.go). All this is
//	            done by one goroutine that keeps its thread until the job is
//	            over: the kernel kills the ranks when that thread ends, so they
//	            go with the launcher even if it is killed by SIGKILL.
//	relays      pass what the ranks print on, whole lines at a time (output.go);
//	            a feed gives rank 0 its input where it cannot simply inherit it
//	            (input.go).
//	supervise   waits for what happens next: the end of a rank, a signal from
//	            the user, a deadline (supervise.go, signals.go). The user can
//	            ask at any time what the ranks wait for (report.go).
//	failure     A rank that dies is named and marked dead in the segment, so that
//	            the others' calls end with an error. Half a second later those
//	            that are still there get SIGTERM, then SIGKILL.
//	end         Only when all ranks have ended are they reaped: until then each
//	            PID is a living process or a zombie, never somebody else's.
//	            Whatever a rank has left running in its process group is
//	            killed. The segment has no name, so nothing else is left.
//
// A rank learns its part from its environment: EXANET_RANK, EXANET_SIZE, and
// the numbers of two inherited file descriptors, EXANET_JOB (the segment) and
// EXANET_CONTROL (a stream socket; a byte 'w' asks the rank what it waits for,
// which it answers with lines of text and a zero byte, and a hang-up means that
// the launcher has gone). A program that looks at none of them just runs. With EXANET_DEVICE set to
// "registers" the launcher also is the hardware: it runs the software device
// (emu/regs), and the register file of the rank's node is file descriptor
// EXANET_REGISTERS.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/emu/regs"
)

// Config describes a job, or a part of one that runs on several hosts.
type Config struct {
	Ranks int      // number of processes
	Prog  string   // program, looked up in PATH if it has no slash
	Args  []string // its arguments, without the program's name
	Env   []string // of all ranks, the last value of a name counts; nil means the launcher's

	// Stdin is what rank 0 reads; nil is an empty input. The other ranks
	// always have an empty one.
	Stdin io.Reader

	// Stdout and Stderr get what the ranks print, whole lines at a time, and
	// are written by one goroutine at a time each. The job's own lines go to
	// Stderr. Nil discards.
	Stdout, Stderr io.Writer

	// Nodes is how many nodes the device registers has, 0: one. They have blocks of consecutive ranks. It is an error
	// with another device.
	Nodes int

	// Label puts "[rank] " before each line.
	Label bool

	// Of a part: the number of its first rank, how many ranks the job has, what tells its ranks where all of them
	// meet, and the name of its host.
	First, Size int
	Meet, Host  string

	// Timeout is how long the job may take, 0: as long as it likes. Then it says what its ranks wait for
	// and is ended as by SIGTERM; the error of Wait is a *TimeoutError.
	Timeout time.Duration
}

// Job is a running job.
type Job struct {
	cfg         Config
	env         []string // of all ranks, but for their number
	segment     *host.Job
	registers   bool // the ranks use the software device
	device      *regs.Device
	ranks       []*rank
	feed        *feed
	place       *net.Place // where the ranks meet, if they talk over a network
	memoryKills uint64     // before there were ranks
	stdout      sink
	stderr      sink
	notices     chan notice
	printing    sync.WaitGroup // of notices
	told        int            // lines on stderr when it had been told of the failure; 0: it has not
	events      events
	reports     chan struct{}
	others      chan bool // another part of the job has failed; true: it has been told which rank was the first

	done chan struct{} // closed when all is over
	err  error         // valid then

	// The state of the supervision, owned by its goroutine.
	running     int        // ranks that have not ended
	failure     *RankError // the first
	interrupted bool       // the user or the context wants the job to end, or it has timed out
	timedOut    bool
	ending      bool // the ranks have been told to end, after a failure
	deadlines   deadlines
}

// Start starts a job. When ctx ends, so does the job: its ranks get SIGTERM,
// and SIGKILL two seconds later.
//
// While the job runs the signals of this process are the job's: SIGINT,
// SIGTERM, SIGHUP, SIGUSR2 and their like go to all ranks; SIGUSR1 and SIGQUIT
// make them say what they wait for.
//
// The error is a *StartError; then no rank runs any more.
func Start(ctx context.Context, cfg Config) (*Job, error) {
	if cfg.Ranks < 1 {
		return nil, &StartError{What: fmt.Sprintf("%d ranks", cfg.Ranks), Err: errors.New("a job has at least one"),
			code: codeLimit}
	}
	path, err := FindProgram(cfg.Prog)
	if err != nil {
		return nil, err
	}
	if cfg.Size == 0 {
		cfg.Size = cfg.Ranks
	}
	if cfg.Env == nil {
		cfg.Env = os.Environ()
	}
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	j := &Job{
		cfg:     cfg,
		stdout:  sink{w: cfg.Stdout},
		stderr:  sink{w: cfg.Stderr},
		notices: make(chan notice, 16),
		reports: make(chan struct{}, 1),
		others:  make(chan bool),
		done:    make(chan struct{}),
	}
	j.memoryKills, _ = memoryKills()
	started := make(chan error)
	go j.run(ctx, path, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return j, nil
}

// Wait returns when the job is over and everything that the ranks have printed
// has been passed on. The error is nil if all ranks ended well, a *RankError
// that names the first that did not, or says why ctx has ended.
func (j *Job) Wait() error {
	<-j.done
	return j.err
}

// Pid returns the PID of a rank. It names that rank until Wait returns.
func (j *Job) Pid(rank int) int { return j.ranks[rank-j.cfg.First].pid }

// Report makes each rank print to its standard error what it waits for, and
// says so itself for ranks that cannot.
func (j *Job) Report() {
	select {
	case j.reports <- struct{}{}:
	default: // one is under way
	}
}

// drainTime is how long output may take after the last rank of a failed job
// has ended; that of a good job may take for ever, as in any pipeline.
const drainTime = 400 * time.Millisecond

// leftoverTime is how long output pipes may stay open after everything that
// belongs to the job has been killed: someone outside holds them.
const leftoverTime = 100 * time.Millisecond

// drain waits until all output has been passed on.
func (j *Job) drain() {
	relays := make(chan struct{})
	go func() {
		defer close(relays)
		late := time.AfterFunc(leftoverTime, func() {
			for _, r := range j.ranks {
				r.stdout.finish()
				r.stderr.finish()
			}
		})
		defer late.Stop()
		for _, r := range j.ranks {
			<-r.stdout.done
			<-r.stderr.done
		}
		close(j.notices)
		j.printing.Wait()
		j.recall()
	}()
	if j.failure == nil && !j.interrupted {
		<-relays
		return
	}
	select {
	case <-relays:
	case <-time.After(drainTime):
	}
}
