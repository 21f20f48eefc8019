package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/packetizer"
)

// Run runs main as n ranks, which are goroutines of this process, and returns when all have
// returned. It is for tests: see Main for programs. A rank that returns an error or panics counts as dead: calls of
// the others that depend on it fail with ErrProcFailed, so Run never hangs for
// it. The result joins the errors of the ranks that failed first.
func Run(n int, main func(world *Comm) error, opts ...Option) error {
	o, err := options(opts)
	if err != nil {
		return err
	}
	if n < 1 {
		return (*Comm)(nil).fail("Run", noValue, noValue, noValue, ErrInit,
			fmt.Sprintf("ask for at least one rank, not %d", n))
	}
	if main == nil {
		return initError(errors.New("there is no function for the ranks to run"), "")
	}
	if o.device == deviceRegisters {
		return initError(errors.New("the device registers serves processes"), "start the program with exanet run")
	}
	env.WarnOnce(os.Stderr)
	fabs, err := inProcess(n, o)
	if err != nil {
		return initError(err, "")
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	ranks := make([]*rank, n)
	for i, f := range fabs {
		if ranks[i], err = newRank(f, o); err != nil {
			return initError(err, "")
		}
	}
	over := make(chan struct{})
	late := make(chan error, 1)
	go func() { late <- endWith(o.context, ranks, over) }()
	for i := range n {
		wg.Go(func() {
			errs[i] = ranks[i].live(main)
		})
	}
	wg.Wait()
	close(over)
	if err := <-late; err != nil {
		return err
	}
	return primary(errs)
}

// inProcess makes the fabrics of n ranks that are goroutines.
func inProcess(n int, o *settings) ([]fabric, error) {
	if o.overNetwork() {
		return overNetwork(n, o)
	}
	job, fabs := host.NewLocalJob(n), make([]fabric, n)
	for i := range fabs {
		m, err := job.JoinLocal(i)
		if err != nil {
			return nil, err
		}
		fabs[i] = host.NewFabric(m, o.limit())
	}
	return fabs, nil
}

// WithContext lets Run end early: when the context ends, the calls of all ranks end with
// ErrProcFailed, and Run returns an error that wraps the context's cause and says what each rank was
// waiting for. A rank that is in no call goes on until its next one: Run waits for it. Init ignores
// this option.
func WithContext(ctx context.Context) Option {
	return func(s *settings) error {
		if ctx == nil {
			return errors.New("there is no context")
		}
		s.context = ctx
		return nil
	}
}

// endWith ends the ranks when the context ends, unless they are over before, and returns why.
func endWith(ctx context.Context, ranks []*rank, over <-chan struct{}) error {
	if ctx == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	var b strings.Builder
	for i, k := range ranks {
		for line := range strings.SplitSeq(waiting(k), "\n") {
			fmt.Fprintf(&b, "\n  rank %d %s", i, line)
		}
	}
	for _, k := range ranks { // what a rank waits for from itself ends as well
		k.mu.Lock()
		k.proto.PeerFailed(k.fab.Rank())
		k.mu.Unlock()
	}
	for _, k := range ranks { // which wakes all
		k.fab.Fail()
	}
	return (*Comm)(nil).fail("Run", noValue, noValue, noValue, fmt.Errorf("%w: %w", ErrProcFailed, context.Cause(ctx)),
		"this is what the ranks waited for:"+b.String())
}

// live runs a rank from its world to its end.
func (k *rank) live(main func(*Comm) error) error {
	world := newWorld(k)
	panicked, err := guard(main, world)
	if err == nil {
		err = k.finalize(world)
	}
	if err != nil {
		k.fab.Fail()
	}
	if !panicked || k.unlocked() {
		k.quit(err)
	}
	return err
}

// guard calls a rank's main function and turns a panic into an error.
func guard(main func(*Comm) error, world *Comm) (panicked bool, err error) {
	defer func() {
		p := recover()
		if aborted, ok := p.(*AbortError); ok {
			err = aborted
		} else if p != nil {
			panicked = true
			err = fmt.Errorf("rank %d panicked: %v\n%s", world.Rank(), p, debug.Stack())
		}
	}()
	return false, ofRank(world.Rank(), main(world))
}

// ofRank names the rank that has returned an error, unless the error does so itself.
func ofRank(rank int, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) && e.Rank == rank {
		return err
	}
	return fmt.Errorf("rank %d: %w", rank, err)
}

// unlocked reports whether the lock of a rank that has panicked can be had: the
// panic may have been in a call that held it, which nobody gives back. Then the
// background goroutine stays behind, as does whoever else waits for the lock.
func (k *rank) unlocked() bool {
	for range 1000 {
		if k.mu.TryLock() {
			k.mu.Unlock()
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// primary is inside.Functions.Primary.
func primary(errs []error) error {
	var first []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrProcFailed) {
			first = append(first, err)
		}
	}
	if first == nil {
		first = errs
	}
	return errors.Join(first...)
}

// limit is the largest payload of a message, 0: the device's own.
func (o *settings) limit() int {
	if o.device == devicePrototype || o.device == deviceRegisters {
		return packetizer.PayloadLimit
	}
	return min(o.bands.Eager, host.DefaultLimit)
}
