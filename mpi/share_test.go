package mpi_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// echo answers every message of rank 0 with its tag and one more until it gets
// one of lastTag.
func echo(c *mpi.Comm) error {
	b := []int{0}
	for {
		st, err := mpi.Recv(c, b, 0, mpi.AnyTag)
		if err != nil || st.Tag == lastTag {
			return err
		}
		if err := mpi.Send(c, b, 0, st.Tag+1); err != nil {
			return err
		}
	}
}

const lastTag = 99

// One goroutine waits for a receive, another gives it up at about the time at which
// its message comes. A third one receives messages that nobody gives up.
func TestWaitHereCancelThere(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 600
	}
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return echo(c)
		}
		stop, bystander := make(chan bool), make(chan error)
		go func() {
			bystander <- func() error {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return nil
					default:
					}
					b := []int{-1}
					q, err := mpi.Irecv(c, b, 1, 4)
					if err != nil {
						return err
					}
					if err := mpi.Send(c, []int{n}, 1, 3); err != nil {
						return err
					}
					if st, err := q.Wait(); err != nil || st.Cancelled() || b[0] != n {
						return fmt.Errorf("bystander %d got %d, %+v, %v", n, b[0], st, err)
					}
				}
			}()
		}()
		err := func() error {
			for i := range rounds {
				b := []int{-1}
				q, err := mpi.Irecv(c, b, 1, 2)
				if err != nil {
					return err
				}
				if err := mpi.Send(c, []int{i}, 1, 1); err != nil {
					return err
				}
				given := make(chan error)
				go func() {
					for range i % 60 {
						runtime.Gosched()
					}
					given <- q.Cancel()
				}()
				st, err := q.Wait()
				if refused := <-given; refused != nil && !errors.Is(refused, mpi.ErrRequest) {
					return refused
				}
				if err == nil && st.Cancelled() {
					_, err = mpi.Recv(c, b, 1, 2)
				}
				if err != nil || b[0] != i {
					return fmt.Errorf("round %d: got %d, %w", i, b[0], err)
				}
			}
			return nil
		}()
		close(stop)
		if e := <-bystander; err == nil {
			err = e
		}
		if e := mpi.Send(c, []int{0}, 1, lastTag); err == nil {
			err = e
		}
		return err
	}))
}

// Several goroutines wait for one request; one of them gets its outcome.
func TestManyWaitForOneRequest(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return echo(c)
		}
		for i := range 300 {
			b := []int{-1}
			q, err := mpi.Irecv(c, b, 1, 2)
			if err != nil {
				return err
			}
			var wg sync.WaitGroup
			outcomes := make([]mpi.Status, 4)
			errs := make([]error, len(outcomes))
			for j := range outcomes {
				wg.Go(func() {
					if j%2 == 0 {
						outcomes[j], errs[j] = q.Wait()
						return
					}
					for done := false; !done; {
						done, outcomes[j], errs[j] = q.Test()
					}
				})
			}
			if err := mpi.Send(c, []int{i}, 1, 1); err != nil {
				return err
			}
			wg.Wait()
			got := 0
			for _, st := range outcomes {
				if st.Bytes() > 0 {
					got++
				}
			}
			if err := errors.Join(errs...); err != nil || got != 1 || b[0] != i {
				return fmt.Errorf("round %d: %d have got %d, %w", i, got, b[0], err)
			}
		}
		return mpi.Send(c, []int{0}, 1, lastTag)
	}))
}

// Goroutines start, cancel, test and wait for one persistent request as they like:
// nonsense, but no other message suffers, nothing breaks and all calls return.
func TestPersistentRequestWithoutOrder(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return echo(c)
		}
		b := []int{-1}
		q, err := mpi.SendInit(c, b, 1, 1)
		if err != nil {
			return err
		}
		r, err := mpi.RecvInit(c, []int{-1}, 0, 5) // from itself
		if err != nil {
			return err
		}
		stop := make(chan bool)
		var wild sync.WaitGroup
		for _, call := range []func(){
			func() { _ = q.Start() },
			func() { _, _ = q.Wait() },
			func() { _ = r.Start() },
			func() { _ = r.Cancel() },
			func() { _, _, _ = r.Test() },
			func() { _, _ = r.Status() },
			func() { _ = mpi.WaitAll(q) },
		} {
			wild.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						call()
						runtime.Gosched()
					}
				}
			})
		}
		for i := range 300 {
			b := []int{-1}
			if _, err = mpi.Sendrecv(c, []int{i}, 1, 7, b, 1, 8); err != nil || b[0] != i {
				err = fmt.Errorf("round %d: got %d, %w", i, b[0], err)
				break
			}
		}
		close(stop)
		wild.Wait()
		if e := r.Cancel(); e == nil {
			_, _ = r.Wait()
		}
		_, _ = q.Wait()
		for _, q := range []*mpi.Request{q, r} {
			if e := q.Free(); err == nil {
				err = e
			}
		}
		var freed sync.WaitGroup
		for range 4 {
			freed.Go(func() { _ = q.Free() })
		}
		freed.Wait()
		if e := mpi.Send(c, []int{0}, 1, lastTag); err == nil {
			err = e
		}
		return err
	}))
}

// One goroutine waits for a receive that another one frees.
func TestWaitHereFreeThere(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return echo(c)
		}
		b := []int{-1}
		q, err := mpi.Irecv(c, b, 1, 2)
		if err != nil {
			return err
		}
		back := make(chan error)
		go func() {
			_, err := q.Wait()
			back <- err
		}()
		for range 100 {
			runtime.Gosched()
		}
		if err := q.Free(); err != nil {
			return err
		}
		if err := <-back; err != nil {
			return err
		}
		if err := mpi.Send(c, []int{1}, 1, 1); err != nil { // ends the receive
			return err
		}
		return mpi.Send(c, []int{0}, 1, lastTag)
	}))
}
