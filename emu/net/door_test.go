package net

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// flood connects n strangers to an address. A third of them says garbage, a third says that it is rank 0 of another
// job, and a third says nothing for as long as it may. It returns when all are connected; done waits until each has
// been sent away.
func flood(t *testing.T, address string, n int, to uint32) (done func()) {
	var connected, ended sync.WaitGroup
	other := gate{NewSecret(), 0}
	connected.Add(n)
	for i := range n {
		ended.Go(func() {
			c, err := net.Dial("tcp", address)
			connected.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			switch i % 3 {
			case 0:
				fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %d\r\n\r\n................", i)
			case 1:
				if other.knock(c, int(to)) == nil {
					t.Error("a stranger was let in")
				}
			}
			_, _ = io.Copy(io.Discard, c)
		})
	}
	connected.Wait()
	return ended.Wait
}

// Strangers come in numbers, and some stay and say nothing, while the ranks meet: these find each other all the same.
func TestStrangersBetweenRanks(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	secret := NewSecret()
	var cards [][]byte
	var ls []*Listener
	for range 2 {
		l, err := Listen("127.0.0.1")
		require.NoError(t, err)
		ls, cards = append(ls, l), append(cards, l.Card("", 0))
	}
	const n = 3 * 2 * provingMost
	met := make(chan error, 1)
	go func() {
		_, err := (&Peers{ls[1], secret, cards}).Connect(ctx, 1)
		met <- err
	}()
	done := flood(t, ls[1].addrs[0], n, 1)
	require.Eventually(t, func() bool { return ls[1].Refused() >= n-provingMost }, time.Minute, time.Millisecond)
	_, err := (&Peers{ls[0], secret, cards}).Connect(ctx, 0)
	require.NoError(t, err)
	require.NoError(t, <-met)
	_, err = net.Dial("tcp", ls[1].addrs[0])
	require.Error(t, err, "who has met listens no more")
	done()
	require.LessOrEqual(t, ls[1].Refused(), int64(n))
}

// A network loses much. A rank has left a connection because nothing came back, and the other end does not know that
// yet when all have met: that was no stranger. Nor is it one whose proof is long on its way: it takes the connection
// as made.
func TestSlowRankIsNoStranger(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := door{Listener: l, gate: gate{NewSecret(), 1}}
	come := make(chan int)
	over := make(chan struct{})
	go func() {
		defer close(over)
		d.serve(func(rank int, _ net.Conn) error { come <- rank; return nil })
	}()
	silent, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	slow, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	knocked := make(chan error, 1)
	go func() {
		knocked <- (&gate{d.secret, 0}).knock(&lateProof{Conn: slow, until: time.Now().Add(helloTime + time.Second)}, 1)
	}()
	select {
	case rank := <-come:
		require.Zero(t, rank)
	case <-time.After(time.Minute):
		require.Fail(t, "the slow rank was not let in")
	}
	require.NoError(t, <-knocked)
	_ = l.Close()
	<-over
	_, err = io.Copy(io.Discard, silent)
	require.NoError(t, err)
	require.Eventually(t, func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.proving) == 0 }, time.Minute,
		time.Millisecond)
	require.Zero(t, d.refused.Load())
}

// lateProof is a connection on which the second thing that is written, the proof, is long on its way.
type lateProof struct {
	net.Conn
	until time.Time
	hello bool
}

func (c *lateProof) Write(b []byte) (int, error) {
	if !c.hello {
		c.hello = true
		return c.Conn.Write(b)
	}
	go func() {
		time.Sleep(time.Until(c.until))
		_, _ = c.Conn.Write(b)
	}()
	return len(b), nil
}

// Garbage may be read from a connection that has just been sent away: it is one stranger, and none when all have come.
func TestStrangersAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		strangers := make(callers, provingMost+1)
		for range cap(strangers) {
			strangers <- &latecomer{closed: make(chan struct{})}
		}
		close(strangers)
		d := door{Listener: strangers}
		d.serve(func(int, net.Conn) error { return nil })
		synctest.Wait()
		require.EqualValues(t, 1, d.refused.Load())
	})
}

// callers is a listener that is closed when it has let them in.
type callers chan net.Conn

func (l callers) Accept() (net.Conn, error) {
	if c, more := <-l; more {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l callers) Close() error   { return nil }
func (l callers) Addr() net.Addr { return nil }

// latecomer is a connection whose garbage is read when it is closed.
type latecomer struct {
	net.Conn
	closed chan struct{}
}

func (c *latecomer) Read(b []byte) (int, error)  { <-c.closed; return len(b), nil }
func (c *latecomer) SetDeadline(time.Time) error { return nil }
func (c *latecomer) Close() error {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return nil
}

func TestStrangersAtThePlace(t *testing.T) {
	const n, ranks = 3 * 2 * provingMost, 3
	warned := make(chan int64, 2)
	p, err := NewPlace(NewSecret(), ranks, func(refused int64) { warned <- refused })
	require.NoError(t, err)
	defer p.Close()
	done := flood(t, p.addresses()[0], n, thePlace)
	var wg sync.WaitGroup
	for i := range ranks {
		wg.Go(func() {
			cards, _, err := Exchange(context.Background(), p.Meet(), i, []byte("{}"))
			if err != nil || len(cards) != ranks {
				t.Errorf("rank %d: %v %v", i, cards, err)
			}
		})
	}
	wg.Wait()
	refused := <-warned
	require.Positive(t, refused)
	require.LessOrEqual(t, refused, int64(n))
	done()
	p.Close()
	require.Empty(t, warned, "it is told once")
}

// A door has few connections at a time of those who have not proved anything, the youngest.
func TestDoorKeepsFew(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	d := door{Listener: l, gate: gate{NewSecret(), 1}}
	go d.serve(func(int, net.Conn) error { return errors.New("nobody knows the secret") })
	var cs []net.Conn
	for range provingMost + 10 {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		cs = append(cs, c)
	}
	for _, c := range cs[:10] {
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return d.refused.Load() == 10 }, time.Minute, time.Millisecond)
	d.mu.Lock()
	defer d.mu.Unlock()
	require.Len(t, d.proving, provingMost)
}
