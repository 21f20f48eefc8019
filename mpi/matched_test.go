package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Several goroutines of rank 1 share the messages of rank 0, of all sizes: each
// message must come whole to the one that has probed it, and all of them once.
func TestMatchedProbesShareMessages(t *testing.T) {
	for _, variant := range mpi.Variants() {
		if variant == "optimistic" { // it does not allow probes
			continue
		}
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				const readers, rounds = 4, 8
				n := readers * rounds * len(sizes)
				if c.Rank() == 0 {
					reqs := make([]*mpi.Request, n)
					for i := range reqs {
						var err error
						if reqs[i], err = mpi.Isend(c, pattern(sizes[i%len(sizes)], i), 1, i); err != nil {
							return err
						}
					}
					return mpi.WaitAll(reqs...)
				}
				seen := make([]chan bool, n)
				for i := range seen {
					seen[i] = make(chan bool, 1)
				}
				errs := make(chan error, readers)
				for r := range readers {
					go func() {
						errs <- func() error {
							for i := range n / readers {
								m, st, err := c.Mprobe(mpi.AnySource, mpi.AnyTag)
								if err != nil {
									return err
								}
								buf := make([]byte, st.Bytes())
								got := st
								if (i+r)%2 == 0 {
									got, err = mpi.Mrecv(m, buf)
								} else {
									var q *mpi.Request
									if q, err = mpi.Imrecv(m, buf); err == nil {
										got, err = q.Wait()
									}
								}
								if err != nil {
									return err
								}
								if got != st || string(buf) != string(pattern(sizes[st.Tag%len(sizes)], st.Tag)) {
									return fmt.Errorf("probed %+v, received %+v", st, got)
								}
								select {
								case seen[st.Tag] <- true:
								default:
									return fmt.Errorf("message %d came twice", st.Tag)
								}
							}
							return nil
						}()
					}()
				}
				var all error
				for range readers {
					all = errors.Join(all, <-errs)
				}
				return all
			}, mpi.WithVariant(variant)))
		})
	}
}

func TestMatchedMessagesAndOthers(t *testing.T) {
	if mpi.DefaultVariant == "optimistic" {
		t.Skip("the protocol of this build does not allow probes")
	}
	require.NoError(t, mpi.Run(1, func(c *mpi.Comm) error {
		m, _, err := c.Improbe(0, 1)
		if m != nil || err != nil {
			return fmt.Errorf("a message out of nothing: %v %w", m, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, _, err := c.MprobeContext(ctx, 0, 1); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("MprobeContext: %v", err)
		}
		if _, err := c.ProbeContext(ctx, 0, 1); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("ProbeContext: %v", err)
		}
		for i := range 3 {
			if err := mpi.Send(c, []int{i}, 0, 1); err != nil {
				return err
			}
		}
		m, st, err := c.Mprobe(0, mpi.AnyTag)
		if err != nil || st.Source != 0 || st.Tag != 1 || mpi.Count[int](st) != 1 || m.Status() != st {
			return fmt.Errorf("Mprobe: %+v %w", st, err)
		}
		// The others go on without it.
		in := []int{-1}
		if _, err := mpi.Recv(c, in, 0, 1); err != nil || in[0] != 1 {
			return fmt.Errorf("Recv: %v %w", in, err)
		}
		if st, err := mpi.Mrecv(m, []int32{7}); !errors.Is(err, mpi.ErrTruncate) || st.Bytes() != 8 {
			return fmt.Errorf("Mrecv into a short buffer: %+v %v", st, err)
		}
		if _, err := mpi.Mrecv(m, in); !errors.Is(err, mpi.ErrRequest) {
			return fmt.Errorf("Mrecv for the second time: %v", err)
		}
		if m, _, err = c.Improbe(mpi.AnySource, 1); m == nil || err != nil {
			return fmt.Errorf("Improbe: %v %w", m, err)
		}
		if _, err := mpi.Mrecv(m, in); err != nil || in[0] != 2 {
			return fmt.Errorf("Mrecv: %v %w", in, err)
		}
		if m, _, err = c.Improbe(mpi.ProcNull, 1); m == nil || err != nil {
			return fmt.Errorf("from ProcNull: %v %w", m, err)
		}
		if st, err := mpi.Mrecv(m, in); err != nil || st.Source != mpi.ProcNull || in[0] != 2 {
			return fmt.Errorf("from ProcNull: %+v %w", st, err)
		}
		return nil
	}))
}

// What a matched probe has found can be received when its communicator has been freed.
func TestMatchedMessagesOfAFreedCommunicator(t *testing.T) {
	for _, variant := range mpi.Variants() {
		if variant == "optimistic" {
			continue // allows no probes
		}
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
				d, err := c.Dup()
				if err != nil {
					return err
				}
				var sends []*mpi.Request
				var found []*mpi.Message
				sizes := []int{1, 1, 5000, 50000}
				for i, n := range sizes {
					if c.Rank() == 0 {
						out := make([]int, n)
						out[n-1] = i
						q, err := mpi.Isend(d, out, 1, 3)
						if err != nil {
							return err
						}
						sends = append(sends, q)
						continue
					}
					m, _, err := d.Mprobe(0, 3)
					if err != nil {
						return err
					}
					found = append(found, m)
				}
				if err := d.Free(); err != nil {
					return err
				}
				for i, m := range found {
					in := make([]int, sizes[i])
					st, err := mpi.Mrecv(m, in)
					if err != nil || st.Source != 0 || st.Tag != 3 || mpi.Count[int](st) != sizes[i] ||
						in[sizes[i]-1] != i {
						return fmt.Errorf("message %d: %+v %w", i, st, err)
					}
				}
				return mpi.WaitAll(sends...)
			}, mpi.WithVariant(variant)))
		})
	}
}
