package mpi

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants/express"
)

// While the background leaves a rank to its calls, each of them does what has come.
func TestCallsDoTheWorkOfABackgroundThatHesitates(t *testing.T) {
	armed, sent := make(chan struct{}), make(chan struct{})
	require.NoError(t, Run(2, func(c *Comm) error {
		if c.Rank() == 1 {
			<-armed
			q, err := c.Ibarrier()
			close(sent)
			return errors.Join(err, WaitAll(q))
		}
		k := c.rank
		q, err := c.Ibarrier()
		if err != nil {
			return err
		}
		k.mu.Lock()
		k.fab.DisarmBackground() // so that nobody rings it
		k.mu.Unlock()
		close(armed)
		<-sent
		k.hesitating.Store(true)
		mine, err := Irecv(c, []int32{0}, 0, 0)
		k.hesitating.Store(false)
		if err != nil {
			return err
		}
		k.mu.Lock()
		left := k.underWay
		k.mu.Unlock()
		if left > 0 {
			err = errors.New("the barrier's message has not been received")
		}
		return errors.Join(err, Send(c, []int32{0}, 0, 0), WaitAll(q, mine))
	}, WithDevice(deviceHost)))
}

// Nor do they ask for a ring: it looks again by itself.
func TestNobodyRingsABackgroundThatHesitates(t *testing.T) {
	require.NoError(t, Run(2, func(c *Comm) error {
		k := c.rank
		k.hesitating.Store(c.Rank() == 0)
		q, err := c.Ibarrier()
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			k.mu.Lock()
			if k.armed {
				err = errors.New("the bell is up")
			}
			k.mu.Unlock()
			k.hesitating.Store(false)
		}
		return errors.Join(err, WaitAll(q))
	}, WithDevice(deviceHost)))
}

// Calls may wait on the express lane while the background's bell is down: when it hesitates,
// and when nothing is pending.
func TestTheLaneBesideTheBackground(t *testing.T) {
	begun, lends := make(chan bool, 1), true
	var armed []uint32
	require.NoError(t, Run(2, func(c *Comm) error {
		if c.Rank() == 1 {
			if !<-begun {
				return nil
			}
			q, err := c.Ibarrier()
			return errors.Join(err, WaitAll(q))
		}
		defer close(begun)
		k, table := c.rank, new(express.Table)
		look := func() {
			k.mu.Lock()
			k.mu.Unlock()
			armed = append(armed, table.Armed)
		}
		if _, lends = any(k.proto).(lessor); !lends {
			return nil
		}
		if _, err := c.OpenExpress(table); err != nil {
			return err
		}
		q, err := c.Ibarrier()
		if err != nil {
			return err
		}
		look()
		k.hesitating.Store(true)
		look()
		k.hesitating.Store(false)
		look()
		begun <- true
		if err := WaitAll(q); err != nil {
			return err
		}
		k.mu.Lock()
		k.armed = true
		k.mu.Unlock()
		look()
		return nil
	}, WithDevice(deviceHost)))
	if !lends {
		t.Skip("the protocol of this build is no lender of lanes")
	}
	require.Equal(t, []uint32{1, 0, 1, 0}, armed)
}

// It waits as long as a call has the rank's lock.
func TestTheBackgroundWaitsForCalls(t *testing.T) {
	require.NoError(t, Run(1, func(c *Comm) error {
		k := c.rank
		over := make(chan struct{})
		k.mu.Lock()
		go func() {
			k.hesitate(k.calls.Load())
			close(over)
		}()
		for !k.hesitating.Load() {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(4 * mostHesitation)
		select {
		case <-over:
			t.Error("over")
		default:
		}
		k.mu.Unlock()
		<-over
		require.False(t, k.hesitating.Load())
		return nil
	}, WithDevice(deviceHost)))
}
