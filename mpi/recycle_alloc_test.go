//go:build !race && !readbased && !rtr && !envless && !optimistic && !customized && !standing

package mpi_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// exchange is what a rank exchanges with the other one, in many forms.
type exchange struct {
	*mpi.Comm
	peer    int
	out, in []float64
	tag     int
	reqs    []*mpi.Request
	done    []mpi.Completion
}

// post adds a request.
func (x *exchange) post(q *mpi.Request, err error) error {
	x.reqs = append(x.reqs, q)
	return err
}

// window posts n receives and n sends, the receives first or, so that messages
// arrive before them, last.
func (x *exchange) window(n int, late bool) error {
	x.reqs = x.reqs[:0]
	for i := range 2 * n {
		var err error
		if late == (i < n) {
			err = x.post(mpi.Isend(x.Comm, x.out, x.peer, 1))
		} else {
			err = x.post(mpi.Irecv(x.Comm, x.in, x.peer, 1))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ten(call func(c *mpi.Comm) error) func(c *mpi.Comm) error {
	return func(c *mpi.Comm) (err error) {
		for i := 0; i < 10 && err == nil; i++ {
			err = call(c)
		}
		return err
	}
}

// A rank that recycles allocates nothing for any form of point to point.
func TestARankThatRecyclesAllocatesNothing(t *testing.T) {
	gaps, err := datatype.Resized(datatype.Float64, 0, 16)
	require.NoError(t, err)
	wait := func(q *mpi.Request, err error) error {
		if err == nil {
			_, err = q.Wait()
		}
		return err
	}
	// receive ends a call that has begun to send.
	receive := func(x *exchange, send *mpi.Request, err error) error {
		if err == nil {
			_, err = mpi.Recv(x.Comm, x.in, x.peer, 1)
		}
		return wait(send, err)
	}
	forms := map[string]func(x *exchange) error{
		"Wait": func(x *exchange) error {
			err := x.window(8, false)
			for _, q := range x.reqs {
				err = wait(q, err)
			}
			return err
		},
		"Test": func(x *exchange) error {
			err := x.window(4, false)
			for _, q := range x.reqs {
				for done := false; !done && err == nil; {
					done, _, err = q.Test()
				}
			}
			return err
		},
		"WaitAll": func(x *exchange) error {
			if err := x.window(64, false); err != nil {
				return err
			}
			return mpi.WaitAll(x.reqs...)
		},
		"WaitAllStatus, unexpected messages": func(x *exchange) (err error) {
			if err = x.window(200, true); err == nil {
				x.done, err = mpi.WaitAllStatus(x.done[:0], x.reqs...)
			}
			return err
		},
		"TestAllStatus": func(x *exchange) error {
			err := x.window(8, false)
			for done := false; !done && err == nil; {
				x.done, done, err = mpi.TestAllStatus(x.done[:0], x.reqs...)
			}
			return err
		},
		"WaitAny": func(x *exchange) error {
			err := x.window(8, false)
			for i := 0; i >= 0 && err == nil; {
				if i, _, err = mpi.WaitAny(x.reqs...); i >= 0 {
					x.reqs[i] = nil
				}
			}
			return err
		},
		"TestAny": func(x *exchange) error {
			err := x.window(8, false)
			for i, done := 0, false; !(done && i < 0) && err == nil; {
				if i, done, _, err = mpi.TestAny(x.reqs...); i >= 0 {
					x.reqs[i] = nil
				}
			}
			return err
		},
		"WaitSome": func(x *exchange) error {
			err := x.window(8, false)
			for more := true; more && err == nil; more = len(x.done) > 0 {
				x.done, err = mpi.WaitSome(x.done[:0], x.reqs...)
				for _, d := range x.done {
					x.reqs[d.Index] = nil
				}
			}
			return err
		},
		"TestSome": func(x *exchange) error {
			err := x.window(8, false)
			for left := len(x.reqs); left > 0 && err == nil; left -= len(x.done) {
				x.done, err = mpi.TestSome(x.done[:0], x.reqs...)
				for _, d := range x.done {
					x.reqs[d.Index] = nil
				}
			}
			return err
		},
		"Issend": func(x *exchange) error {
			q, err := mpi.Issend(x.Comm, x.out, x.peer, 1)
			return receive(x, q, err)
		},
		"Irsend": func(x *exchange) error {
			r, err := mpi.Irecv(x.Comm, x.in, x.peer, 1)
			if err != nil {
				return err
			}
			if err := x.Barrier(); err != nil {
				return err
			}
			return wait(r, wait(mpi.Irsend(x.Comm, x.out, x.peer, 1)))
		},
		"Ibsend": func(x *exchange) error {
			q, err := mpi.Ibsend(x.Comm, x.out, x.peer, 1)
			return receive(x, q, err)
		},
		"persistent": func(x *exchange) error {
			q, err := mpi.SendInit(x.Comm, x.out, x.peer, 1)
			if err != nil {
				return err
			}
			if err := q.Start(); err != nil {
				return err
			}
			if err := receive(x, q, nil); err != nil {
				return err
			}
			return q.Free()
		},
		"freed": func(x *exchange) error {
			q, err := mpi.Isend(x.Comm, x.out, x.peer, 1)
			if err != nil {
				return err
			}
			if err := q.Free(); err != nil {
				return err
			}
			if _, err := mpi.Recv(x.Comm, x.in, x.peer, 1); err != nil {
				return err
			}
			return x.Barrier()
		},
		"cancelled": func(x *exchange) error {
			q, err := mpi.Irecv(x.Comm, x.in, x.peer, 2)
			if err == nil {
				err = q.Cancel()
			}
			return wait(q, err)
		},
		"Isendrecv": func(x *exchange) error {
			return wait(mpi.Isendrecv(x.Comm, x.out, x.peer, 1, x.in, x.peer, 1))
		},
		"IsendrecvReplace": func(x *exchange) error {
			return wait(mpi.IsendrecvReplace(x.Comm, x.in, x.peer, 1, x.peer, 1))
		},
		"SendrecvReplace": func(x *exchange) error {
			_, err := mpi.SendrecvReplace(x.Comm, x.in, x.peer, 1, x.peer, 1)
			return err
		},
		"Probe": func(x *exchange) error {
			q, err := mpi.Isend(x.Comm, x.out, x.peer, 1)
			if err == nil {
				_, err = x.Probe(mpi.AnySource, mpi.AnyTag)
			}
			return receive(x, q, err)
		},
		"Mprobe": func(x *exchange) error {
			q, err := mpi.Isend(x.Comm, x.out, x.peer, 1)
			if err != nil {
				return err
			}
			m, _, err := x.Mprobe(mpi.AnySource, 1)
			if err != nil {
				return err
			}
			if _, err := mpi.Mrecv(m, x.in); err != nil {
				return err
			}
			return wait(q, nil)
		},
		"Improbe": func(x *exchange) error {
			q, err := mpi.Isend(x.Comm, x.out, x.peer, 1)
			var m *mpi.Message
			for m == nil && err == nil {
				m, _, err = x.Improbe(x.peer, 1)
			}
			if err != nil {
				return err
			}
			return wait(q, wait(mpi.Imrecv(m, x.in)))
		},
		"data with gaps": func(x *exchange) error {
			out, in := mpi.With(x.out, len(x.out)/2, gaps), mpi.With(x.in, len(x.in)/2, gaps)
			r, err := x.IrecvData(in, x.peer, 1)
			if err != nil {
				return err
			}
			if err := wait(r, wait(x.IsendData(out, x.peer, 1))); err != nil {
				return err
			}
			return wait(x.IsendrecvReplaceData(in, x.peer, 1, x.peer, 1))
		},
		"a new tag each time": func(x *exchange) error {
			x.tag++
			r, err := mpi.Irecv(x.Comm, x.in[:2], x.peer, x.tag)
			if err != nil {
				return err
			}
			return wait(r, wait(mpi.Isend(x.Comm, x.out[:2], x.peer, x.tag)))
		},
		"many collectives": func(x *exchange) error {
			x.reqs = x.reqs[:0]
			for range 20 {
				if err := x.post(mpi.Iallreduce(x.Comm, x.out[:2], x.in[:2], mpi.Max)); err != nil {
					return err
				}
			}
			return mpi.WaitAll(x.reqs...)
		},
		"collectives": func(x *exchange) error {
			sum, err := mpi.Iallreduce(x.Comm, x.out, x.in, mpi.Sum)
			if err != nil {
				return err
			}
			return wait(sum, wait(x.Ibarrier()))
		},
	}
	for _, n := range []int{2, 5000} { // short and long
		for name, form := range forms {
			t.Run(name+" of "+strconv.Itoa(n), func(t *testing.T) {
				var both [2]*exchange
				// In ten calls: AllocsPerRun rounds down.
				calls := ten(func(c *mpi.Comm) error {
					x := both[c.Rank()]
					if x == nil {
						x = &exchange{Comm: c, peer: 1 - c.Rank(), out: make([]float64, n), in: make([]float64, n)}
						both[c.Rank()] = x
						if name == "a new tag each time" { // until the first are forgotten
							for range 3000 {
								if err := form(x); err != nil {
									return err
								}
							}
						}
					}
					if err := form(x); err != nil {
						return err
					}
					// So that no rank runs ahead and fills the device. Messages arrive
					// before those of the barrier.
					return c.Barrier()
				})
				// What a call allocates it allocates in every job. But up to 64 sends that were
				// freed before they had completed wait for each other; where the first of
				// them come late, the rank's supply grows while calls are counted.
				allocated := 1.0
				for i := 0; i < 3 && allocated > 0; i++ {
					both = [2]*exchange{}
					allocated = allocationsIn(t, 50, calls, mpi.WithRecycling(),
						mpi.WithCollectives("barrier:dissemination"))
				}
				require.Zero(t, allocated)
			})
		}
	}
}
