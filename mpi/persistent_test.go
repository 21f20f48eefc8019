package mpi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Each round the sender starts one send of every mode and size and an ordinary
// one in between, and the receiver as many receives, half of them persistent:
// all with one tag, so that each must get its own message.
func TestPersistentRequestsMatchInOrder(t *testing.T) {
	inits := []func(*mpi.Comm, []byte, int, int) (*mpi.Request, error){
		mpi.SendInit[byte], mpi.SsendInit[byte], mpi.RsendInit[byte], mpi.BsendInit[byte],
	}
	for _, variant := range mpi.Variants() {
		if variant == "optimistic" { // sizes need not agree there
			continue
		}
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				const rounds = 20
				var fixed []*mpi.Request
				var bufs [][]byte
				for i, n := range sizes {
					buf := make([]byte, n)
					bufs = append(bufs, buf, make([]byte, n))
					init := inits[i%len(inits)]
					if c.Rank() == 1 {
						init = mpi.RecvInit[byte]
					}
					q, err := init(c, buf, 1-c.Rank(), 7)
					if err != nil {
						return err
					}
					fixed = append(fixed, q)
				}
				for round := range rounds {
					var reqs []*mpi.Request
					for i, q := range fixed {
						other := bufs[2*i+1]
						if c.Rank() == 0 {
							copy(bufs[2*i], pattern(len(other), 2*i+round))
							copy(other, pattern(len(other), 2*i+1+round))
						}
						if err := q.Start(); err != nil {
							return err
						}
						post := mpi.Isend[byte]
						if c.Rank() == 1 {
							post = mpi.Irecv[byte]
						}
						o, err := post(c, other, 1-c.Rank(), 7)
						if err != nil {
							return err
						}
						reqs = append(reqs, q, o)
					}
					if err := mpi.WaitAll(reqs...); err != nil {
						return err
					}
					for i, buf := range bufs {
						if c.Rank() == 1 && string(buf) != string(pattern(len(buf), i+round)) {
							return fmt.Errorf("round %d: message %d has the wrong data", round, i)
						}
					}
				}
				for _, q := range fixed {
					if err := q.Free(); err != nil {
						return err
					}
				}
				return nil
			}, mpi.WithVariant(variant)))
		})
	}
}

func TestStatesOfAPersistentRequest(t *testing.T) {
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		in := make([]int, 3)
		q, err := mpi.RecvInit(c, in, 0, 4)
		if err != nil {
			return err
		}
		// Not active: nothing to wait for, nothing to cancel.
		if st, err := q.Wait(); err != nil || st.Source != mpi.AnySource {
			return fmt.Errorf("inactive: %+v %w", st, err)
		}
		if err := q.Cancel(); !errors.Is(err, mpi.ErrRequest) {
			return fmt.Errorf("Cancel of an inactive request: %v", err)
		}
		for round := range 3 {
			if err := q.Start(); err != nil {
				return err
			}
			if err := q.Start(); !errors.Is(err, mpi.ErrRequest) {
				return fmt.Errorf("Start of an active request: %v", err)
			}
			if round == 1 {
				if err := q.Cancel(); err != nil {
					return err
				}
				if st, err := q.Wait(); err != nil || !st.Cancelled() {
					return fmt.Errorf("cancelled: %+v %w", st, err)
				}
				continue
			}
			if err := mpi.Send(c, []int{round, 1, 2}, 0, 4); err != nil {
				return err
			}
			if st, err := q.Wait(); err != nil || st.Tag != 4 || mpi.Count[int](st) != 3 || in[0] != round {
				return fmt.Errorf("round %d: %+v %v %w", round, st, in, err)
			}
		}
		if err := mpi.StartAll(q, q); !errors.Is(err, mpi.ErrRequest) {
			return fmt.Errorf("the same request twice: %v", err)
		}
		if err := q.Cancel(); err != nil {
			return err
		}
		if _, err := q.Wait(); err != nil {
			return err
		}
		if err := q.Free(); err != nil {
			return err
		}
		for what, err := range map[string]error{"Start": q.Start(), "Free": q.Free()} {
			if !errors.Is(err, mpi.ErrRequest) {
				return fmt.Errorf("%s of a freed request: %v", what, err)
			}
		}
		null, err := mpi.RecvInit(c, in, mpi.ProcNull, 4)
		if err != nil {
			return err
		}
		if err := null.Start(); err != nil {
			return err
		}
		if st, err := null.Wait(); err != nil || st.Source != mpi.ProcNull {
			return fmt.Errorf("from ProcNull: %+v %w", st, err)
		}
		return null.Free()
	}))
}

func TestExchangesInOneRequest(t *testing.T) {
	for _, n := range sizes {
		require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
			next, before := (c.Rank()+1)%3, (c.Rank()+2)%3
			in := make([]byte, n)
			q, err := mpi.Isendrecv(c, pattern(n, c.Rank()), next, 1, in, before, 1)
			if err != nil {
				return err
			}
			own := pattern(n, c.Rank())
			r, err := mpi.IsendrecvReplace(c, own, next, 2, before, 2)
			if err != nil {
				return err
			}
			for _, q := range []*mpi.Request{q, r} {
				if st, err := q.Wait(); err != nil || st.Source != before || st.Bytes() != n {
					return fmt.Errorf("%+v %w", st, err)
				}
			}
			if _, err := mpi.SendrecvReplace(c, own, before, 3, next, 3); err != nil {
				return err
			}
			if string(in) != string(pattern(n, before)) || string(own) != string(pattern(n, c.Rank())) {
				return fmt.Errorf("%d bytes: wrong data", n)
			}
			return nil
		}))
	}
}
