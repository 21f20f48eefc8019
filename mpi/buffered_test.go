package mpi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestAttachedBufferBoundsBufferedSends(t *testing.T) {
	const n = 600000 // too long to leave at once, whatever the protocol
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			if err := c.Barrier(); err != nil {
				return err
			}
			in := make([]byte, n)
			for i := range 4 {
				if _, err := mpi.Recv(c, in, 0, 1); err != nil || string(in) != string(pattern(n, i)) {
					return fmt.Errorf("message %d: wrong data, %w", i, err)
				}
			}
			return nil
		}
		if _, err := c.DetachBuffer(); !errors.Is(err, mpi.ErrBuffer) {
			return fmt.Errorf("DetachBuffer of none: %v", err)
		}
		const room = 3 * (n + mpi.BsendOverhead)
		if err := c.AttachBuffer(room); err != nil {
			return err
		}
		if err := c.AttachBuffer(room); !errors.Is(err, mpi.ErrBuffer) {
			return fmt.Errorf("AttachBuffer for the second time: %v", err)
		}
		fixed, err := mpi.BsendInit(c, pattern(n, 2), 1, 1)
		if err != nil {
			return err
		}
		data := pattern(n, 0)
		if err := mpi.Bsend(c, data, 1, 1); err != nil {
			return err
		}
		copy(data, pattern(n, 1))
		q, err := mpi.Ibsend(c, data, 1, 1)
		if err != nil {
			return err
		}
		clear(data)
		if err := fixed.Start(); err != nil {
			return err
		}
		// Full.
		refused := map[string]error{"Bsend": mpi.Bsend(c, data, 1, 1)}
		_, refused["Ibsend"] = mpi.Ibsend(c, data, 1, 1)
		if err := mpi.WaitAll(q, fixed); err != nil {
			return err
		}
		refused["Start"] = fixed.Start()
		for call, err := range refused {
			if !errors.Is(err, mpi.ErrBuffer) || mpi.ErrorClass(err) != mpi.ClassBuffer {
				return fmt.Errorf("%s into a full buffer: %v", call, err)
			}
		}
		// What can leave at once needs no room.
		if err := mpi.Bsend(c, []byte{1}, 1, 2); err != nil {
			return err
		}
		if err := c.Barrier(); err != nil {
			return err
		}
		if size, err := c.DetachBuffer(); err != nil || size != room {
			return fmt.Errorf("DetachBuffer: %d %w", size, err)
		}
		// Not bounded any more, and Finalize waits for it.
		if err := mpi.Bsend(c, pattern(n, 3), 1, 1); err != nil {
			return err
		}
		return fixed.Free()
	}))
}

// Under the stricter rules a buffered send needs an attached buffer.
func TestBufferRules(t *testing.T) {
	const n = 600000 // too long to leave at once, whatever the protocol
	for _, rule := range []mpi.BufferRule{mpi.BufferHolds, mpi.BufferNeeded} {
		require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
			peer := 1 - c.Rank()
			bsend := func(tag, n int, fails bool) error {
				if err := mpi.Bsend(c, pattern(n, tag), peer, tag); errors.Is(err, mpi.ErrBuffer) != fails {
					return fmt.Errorf("rule %d, %d bytes, tag %d: %w", rule, n, tag, err)
				} else if !fails {
					_, err = mpi.Recv(c, make([]byte, n), peer, tag)
					return err
				}
				return nil
			}
			needed := rule == mpi.BufferNeeded
			err := errors.Join(bsend(1, 8, needed), bsend(2, n, true), c.AttachBuffer(mpi.BsendOverhead+n),
				bsend(3, 8, false), bsend(4, n, false), bsend(5, n+1, true))
			if _, e := c.DetachBuffer(); e != nil {
				err = errors.Join(err, e)
			}
			return errors.Join(err, bsend(6, 0, needed), bsend(7, n, true))
		}, mpi.WithBufferRule(rule)))
	}
}

// A freed request completes although nobody waits for it.
func TestFreedRequestsComplete(t *testing.T) {
	for _, n := range []int{8, 5000, 100000} {
		require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
			peer := 1 - c.Rank()
			in, out := make([]byte, n), pattern(n, c.Rank())
			for i, post := range []func() (*mpi.Request, error){
				func() (*mpi.Request, error) { return mpi.Irecv(c, in, peer, 1) },
				func() (*mpi.Request, error) { return mpi.Issend(c, out, peer, 1) },
				func() (*mpi.Request, error) { return mpi.Isend(c, out, peer, 2) },
			} {
				q, err := post()
				if err != nil {
					return err
				}
				if err := q.Free(); err != nil {
					return err
				}
				if err := q.Free(); !errors.Is(err, mpi.ErrRequest) {
					return fmt.Errorf("request %d freed twice: %v", i, err)
				}
				if st, err := q.Wait(); err != nil || st.Source != mpi.AnySource {
					return fmt.Errorf("a freed request: %+v %w", st, err)
				}
			}
			// When the second message is there, so is the first.
			again := make([]byte, n)
			if _, err := mpi.Recv(c, again, peer, 2); err != nil {
				return err
			}
			if string(again) != string(pattern(n, peer)) {
				return errors.New("wrong data")
			}
			if err := c.Barrier(); err != nil {
				return err
			}
			if _, err := mpi.Sendrecv(c, out, peer, 1, again, peer, 1); err != nil {
				return err
			}
			if string(in) != string(pattern(n, peer)) {
				return errors.New("the freed receive got nothing")
			}
			return nil
		}))
	}
}

// The error of a full buffer counts the room of communicators' buffers, which the preload library adds.
func TestAFullBufferCountsAllRoom(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		if err := c.AttachBuffer(100); err != nil {
			return err
		}
		within.MoreBuffer(c, 1000)
		err := mpi.Bsend(c, make([]byte, 100000), 0, 1)
		require.ErrorContains(t, err, "0 of 1100 are in use")
		return nil
	}))
}
