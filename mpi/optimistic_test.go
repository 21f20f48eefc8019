//go:build !readbased && !rtr && !envless && !ticket

package mpi_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func runOptimistic(n int, rank func(c *mpi.Comm) error) error {
	return mpi.Run(n, rank, mpi.WithVariant("optimistic"))
}

// Programs that keep to the assumptions: on even tags messages are short, on odd
// ones long. Sends and receives of a (source, tag) match in order, whatever the
// order in which tags and peers are served.
func TestOptimisticRandomPrograms(t *testing.T) {
	programs := 300
	if testing.Short() {
		programs = 60
	}
	for seed := range uint64(programs) {
		n := 2 + int(seed%4)
		err := runOptimistic(n, func(c *mpi.Comm) error {
			type message struct{ from, to, tag, size, id int }
			// All ranks draw the same messages, then each its own order.
			r := rand.New(rand.NewPCG(seed, 1))
			var all []message
			for id := range 20 * n {
				m := message{r.IntN(n), r.IntN(n), r.IntN(6), r.IntN(4097), id}
				if m.tag%2 == 1 {
					m.size = 4097 + r.IntN(60_000)
				}
				all = append(all, m)
			}
			own := rand.New(rand.NewPCG(seed, uint64(100+c.Rank())))
			type lane struct{ peer, tag int }
			var reqs []*mpi.Request
			var check []func() error
			post := func(lanes map[lane][]message, send bool) error {
				for len(lanes) > 0 {
					for peer := range n {
						for tag := range 6 {
							k := lane{peer, tag}
							if len(lanes[k]) == 0 {
								delete(lanes, k)
								continue
							}
							if own.IntN(3) > 0 {
								continue
							}
							m := lanes[k][0]
							lanes[k] = lanes[k][1:]
							if send {
								q, err := mpi.Isend(c, pattern(m.size, m.id), peer, tag)
								if err != nil {
									return err
								}
								reqs = append(reqs, q)
								continue
							}
							room := 4096
							if tag%2 == 1 {
								room = 70_000
							}
							buf := make([]byte, room)
							q, err := mpi.Irecv(c, buf, peer, tag)
							if err != nil {
								return err
							}
							reqs = append(reqs, q)
							check = append(check, func() error {
								if string(buf[:m.size]) != string(pattern(m.size, m.id)) {
									return fmt.Errorf("message %+v: other data", m)
								}
								return nil
							})
						}
					}
				}
				return nil
			}
			in, out := map[lane][]message{}, map[lane][]message{}
			for _, m := range all {
				if m.to == c.Rank() {
					k := lane{m.from, m.tag}
					in[k] = append(in[k], m)
				}
				if m.from == c.Rank() {
					k := lane{m.to, m.tag}
					out[k] = append(out[k], m)
				}
			}
			sendFirst := own.IntN(2) == 0
			first, second := in, out
			if sendFirst {
				first, second = out, in
			}
			if err := post(first, sendFirst); err != nil {
				return err
			}
			if err := post(second, !sendFirst); err != nil {
				return err
			}
			if err := mpi.WaitAll(reqs...); err != nil {
				return err
			}
			for _, f := range check {
				if err := f(); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err, "seed %d", seed)
	}
}

func TestOptimisticRefusesWhatItCannotDo(t *testing.T) {
	require.NoError(t, runOptimistic(2, func(c *mpi.Comm) error {
		_, err := mpi.Recv(c, make([]byte, 1), mpi.AnySource, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		require.ErrorContains(t, err, "use ticket")
		_, err = c.Probe(0, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		_, _, err = c.Iprobe(0, 0)
		require.ErrorIs(t, err, mpi.ErrAssumption)
		return c.Barrier()
	}))
}

// Each case breaks the assumption that short meets short and long meets long;
// both ranks' outcomes must come by themselves, at least one as an error.
func TestOptimisticDiagnosesMismatches(t *testing.T) {
	short, long := 8, 100_000
	for _, c := range []struct {
		name       string
		send, recv int
		late       int // rank that comes 300 ms later; -1: none
	}{
		{"short send, long receive", short, long, -1},
		{"short send, long receive, sender late", short, long, 0},
		{"short send, long receive, receiver late", short, long, 1},
		{"long send, short receive", long, short, -1},
		{"long send, short receive, sender late", long, short, 0},
		{"long send, short receive, receiver late", long, short, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			outcome := make(chan [2]error, 1)
			go func() {
				var errs [2]error
				_ = runOptimistic(2, func(w *mpi.Comm) error {
					if w.Rank() == c.late {
						time.Sleep(300 * time.Millisecond)
					}
					if w.Rank() == 0 {
						errs[0] = mpi.Send(w, make([]byte, c.send), 1, 4)
					} else {
						_, errs[1] = mpi.Recv(w, make([]byte, c.recv), 0, 4)
					}
					return nil
				})
				outcome <- errs
			}()
			select {
			case errs := <-outcome:
				require.ErrorIs(t, errors.Join(errs[:]...), mpi.ErrAssumption)
				require.ErrorIs(t, errs[1], mpi.ErrAssumption, "the receiver at least has nothing")
			case <-time.After(20 * time.Second):
				t.Fatal("it hangs")
			}
		})
	}
}

// A legal program that is slow, and one in which a short message finds only a
// long receive while its own receive is still to come.
func TestOptimisticAccusesNobodyWhoIsSlow(t *testing.T) {
	require.NoError(t, runOptimistic(2, func(c *mpi.Comm) error {
		long, short := make([]byte, 100_000), make([]byte, 8)
		if c.Rank() == 0 {
			q, err := mpi.Isend(c, long, 1, 1)
			if err != nil {
				return err
			}
			if err := mpi.Send(c, short, 1, 1); err != nil {
				return err
			}
			if _, err := q.Wait(); err != nil { // longer than any doubt
				return err
			}
			_, err = mpi.Recv(c, short, 1, 2)
			return err
		}
		time.Sleep(700 * time.Millisecond)
		if _, err := mpi.Recv(c, long, 0, 1); err != nil {
			return err
		}
		if _, err := mpi.Recv(c, short, 0, 1); err != nil {
			return err
		}
		time.Sleep(700 * time.Millisecond)
		return mpi.Send(c, short, 0, 2)
	}))
}
