package mpi_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// The device network: ranks that share no memory and talk over connections of this host.

// onNetwork runs a test for every protocol on the device network.
func onNetwork(t *testing.T, test func(t *testing.T, options ...mpi.Option)) {
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) { test(t, mpi.WithVariant(variant), mpi.WithDevice("network")) })
	}
}

// Ranks of one host share memory for the collectives of a communicator that has no others, however it was made, and
// when the leaders have used all their areas.
func TestCommunicatorsWithinAHost(t *testing.T) {
	require.NoError(t, mpi.Run(5, func(c *mpi.Comm) error {
		here := c.Rank() / 2
		for range 3 {
			var all []*mpi.Comm
			for i := range 40 {
				d, err := c.SplitType(mpi.SplitShared, 0)
				if err != nil {
					return err
				}
				e, err := d.Dup()
				if err != nil {
					return err
				}
				f, err := c.Split((c.Rank()+1)/2, 0) // ranks of two hosts, but for the first
				if err != nil {
					return err
				}
				require.Equal(t, here == c.Size()/2, d.Size() == 1)
				require.False(t, mpi.HasArea(f))
				if i == 0 && d.Size() > 1 {
					require.True(t, mpi.HasArea(d))
					require.True(t, mpi.HasArea(e))
				}
				all = append(all, d, e, f)
			}
			for _, d := range all {
				if err := errors.Join(sumOf(d), d.Free()); err != nil {
					return err
				}
			}
			if err := sumOf(c); err != nil {
				return err
			}
		}
		require.False(t, mpi.HasArea(c))
		return nil
	}, mpi.WithRanksAHost(2)))
}

// often is n, or a fifth of that in the short form of the tests.
func often(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// letter is a message of random traffic.
type letter struct{ tag, size, seed int }

// letters are those that a rank sends to another in one round. Both ends and the model know them.
func letters(seed uint64, from, to, round int) (list []letter) {
	r := rand.New(rand.NewPCG(seed, uint64(from<<40|to<<20|round)))
	for range r.IntN(6) {
		list = append(list, letter{r.IntN(3), r.IntN(1 << r.IntN(21)), r.IntN(1 << 16)})
	}
	return list
}

// receiver is a rank of random messages, with a model of what comes to it.
type receiver struct {
	*mpi.Comm
	r     *rand.Rand
	comes map[int][]letter // by source, in the order in which they are sent: what has not been received
	due   map[int]int      // how many of those are certain to come, if this rank does nothing else
}

// take takes a message out of the model: the first of its source, or the first with its tag.
func (v *receiver) take(st mpi.Status, buf []byte, anyTag bool) error {
	list := v.comes[st.Source]
	i := slices.IndexFunc(list, func(l letter) bool { return anyTag || l.tag == st.Tag })
	if i < 0 {
		return fmt.Errorf("there is no message from rank %d with tag %d", st.Source, st.Tag)
	}
	l := list[i]
	if st.Tag != l.tag || st.Bytes() != l.size {
		return fmt.Errorf("%d bytes from rank %d with tag %d, want %+v", st.Bytes(), st.Source, st.Tag, l)
	}
	if string(buf[:l.size]) != string(pattern(l.size, l.seed)) {
		return fmt.Errorf("message %+v from rank %d has other data", l, st.Source)
	}
	v.comes[st.Source] = slices.Delete(list, i, i+1)
	v.due[st.Source]--
	return nil
}

// traffic is such a rank. In a round every rank begins to send to all others and then receives as many messages as
// there are for it, some of which may be of later rounds.
func traffic(c *mpi.Comm, seed uint64, rounds int, wildcards bool) error {
	me := c.Rank()
	v := receiver{c, rand.New(rand.NewPCG(seed, uint64(me))), map[int][]letter{}, map[int]int{}}
	var others []int
	for peer := range c.Size() {
		if peer == me {
			continue
		}
		others = append(others, peer)
		for round := range rounds {
			v.comes[peer] = append(v.comes[peer], letters(seed, peer, me, round)...)
		}
	}
	var sends []*mpi.Request
	for round := range rounds {
		left := 0
		for _, peer := range others {
			for _, l := range letters(seed, me, peer, round) {
				q, err := mpi.Isend(c, pattern(l.size, l.seed), peer, l.tag)
				if err != nil {
					return err
				}
				sends = append(sends, q)
			}
			n := len(letters(seed, peer, me, round))
			v.due[peer] += n
			left += n
		}
		for left > 0 {
			n, err := v.some(left, others, wildcards)
			if err != nil {
				return fmt.Errorf("seed %d, round %d: %w", seed, round, err)
			}
			left -= n
		}
	}
	return mpi.WaitAll(sends...)
}

// some receives at least one message and at most so many, in some way.
func (v *receiver) some(most int, others []int, wildcards bool) (n int, err error) {
	var certain []int
	for _, peer := range others {
		if v.due[peer] > 0 {
			certain = append(certain, peer)
		}
	}
	peer := certain[v.r.IntN(len(certain))]
	how := v.r.IntN(7)
	if !wildcards {
		how = 0
	}
	switch how {
	case 0:
		return 1, v.tagged(peer)
	case 1:
		return v.posted(1, peer)
	case 2:
		return v.posted(min(most, 1+v.r.IntN(4)), mpi.AnySource)
	case 3:
		st, err := v.Probe(mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return 0, err
		}
		return 1, v.found(st)
	case 4:
		for {
			switch found, st, err := v.Iprobe(mpi.AnySource, mpi.AnyTag); {
			case err != nil:
				return 0, err
			case found:
				return 1, v.found(st)
			}
		}
	case 5:
		m, st, err := v.Mprobe(mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return 0, err
		}
		buf := make([]byte, st.Bytes())
		if st, err = mpi.Mrecv(m, buf); err != nil {
			return 0, err
		}
		return 1, v.take(st, buf, true)
	default:
		buf := make([]byte, 1<<20)
		st, err := mpi.Recv(v.Comm, buf, mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return 0, err
		}
		return 1, v.take(st, buf, true)
	}
}

// tagged receives a message by its tag, into a buffer of its size.
func (v *receiver) tagged(from int) error {
	list := v.comes[from][:v.due[from]]
	tag := list[v.r.IntN(len(list))].tag
	first := slices.IndexFunc(list, func(l letter) bool { return l.tag == tag })
	buf := make([]byte, list[first].size)
	st, err := mpi.Recv(v.Comm, buf, from, tag)
	if err != nil {
		return err
	}
	return v.take(st, buf, false)
}

// posted begins n receives of any tag, which are matched in this order.
func (v *receiver) posted(n, from int) (_ int, err error) {
	reqs, bufs := make([]*mpi.Request, n), make([][]byte, n)
	for i := range n {
		bufs[i] = make([]byte, 1<<20)
		if reqs[i], err = mpi.Irecv(v.Comm, bufs[i], from, mpi.AnyTag); err != nil {
			return 0, err
		}
	}
	for i, q := range reqs {
		st, err := q.Wait()
		if err == nil {
			err = v.take(st, bufs[i], true)
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// found receives what a probe has found.
func (v *receiver) found(st mpi.Status) error {
	buf := make([]byte, st.Bytes())
	got, err := mpi.Recv(v.Comm, buf, st.Source, st.Tag)
	if err != nil {
		return err
	}
	return v.take(got, buf, true)
}

// Messages of up to 1 MiB arrive as they were sent, in the order that MPI promises.
func TestNetworkTraffic(t *testing.T) {
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			for seed := range uint64(often(15)) {
				require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
					return traffic(c, seed, 12, variant != "optimistic") // which knows no wildcards and no probes
				}, mpi.WithVariant(variant), mpi.WithDevice("network")))
			}
		})
	}
}

// Data with gaps, and all collectives.
func TestNetworkDataWithGaps(t *testing.T) {
	g := gappy(t)
	op := mpi.NewOpFunc(composeData, false)
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			on := []mpi.Option{mpi.WithVariant(variant), mpi.WithDevice("network")}
			for _, n := range []int{2, 100, 600} {
				require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error { return columns(c, variant, n) }, on...))
			}
			require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
				return dataCollectives(c, g, op, 5, 1, false)
			}, on...))
		})
	}
}

func TestNetworkCollectives(t *testing.T) {
	onNetwork(t, func(t *testing.T, on ...mpi.Option) {
		require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
			for root, n := range []int{0, 600, 1 << 14} {
				for _, k := range collectives(c, n, root, root == 1) {
					if err := k.perform(); err != nil {
						return fmt.Errorf("root %d, %d elements: %w", root, n, err)
					}
				}
			}
			return nil
		}, on...))
	})
}

// Whatever the others wait for from a rank that panics, they are told.
func TestNetworkPanic(t *testing.T) {
	onNetwork(t, func(t *testing.T, on ...mpi.Option) {
		err := mpi.Run(4, func(c *mpi.Comm) (err error) {
			switch c.Rank() {
			case 0:
				_, err = mpi.Recv(c, make([]byte, 10), 2, 0)
			case 1:
				err = mpi.Ssend(c, make([]byte, 1<<20), 2, 0)
			case 2:
				panic("on purpose")
			case 3:
				err = c.Barrier()
			}
			assert.ErrorIs(t, err, mpi.ErrProcFailed, "rank %d", c.Rank())
			return err
		}, on...)
		require.ErrorContains(t, err, "rank 2 panicked: on purpose")
	})
}

// A rank that dies in the middle of long messages in both directions.
func TestNetworkDeathWithinLongMessages(t *testing.T) {
	gone := errors.New("gone")
	onNetwork(t, func(t *testing.T, on ...mpi.Option) {
		for range often(10) {
			err := mpi.Run(3, func(c *mpi.Comm) error {
				var reqs []*mpi.Request
				for peer := range c.Size() {
					if peer == c.Rank() {
						continue
					}
					for range 4 {
						s, err := mpi.Isend(c, make([]byte, 1<<20), peer, 0)
						require.NoError(t, err)
						r, err := mpi.Irecv(c, make([]byte, 1<<20), peer, 0)
						require.NoError(t, err)
						reqs = append(reqs, s, r)
					}
				}
				if c.Rank() == 1 {
					_, _, err := mpi.WaitAny(reqs...)
					require.NoError(t, err)
					return gone
				}
				for _, q := range reqs {
					if _, err := q.Wait(); err != nil {
						assert.ErrorIs(t, err, mpi.ErrProcFailed)
					}
				}
				_, err := mpi.Recv(c, make([]byte, 1), 1, 1)
				assert.ErrorIs(t, err, mpi.ErrProcFailed)
				return err
			}, on...)
			require.ErrorIs(t, err, gone)
		}
	})
}

// A rank that has sent and ends leaves nothing behind: what is under way arrives, though its
// receiver looks only when the sender has no more to do.
func TestNetworkFinalizeWithMessagesUnderWay(t *testing.T) {
	sizes := []int{0, 1, 40, 4096, 100_000, 1 << 20}
	onNetwork(t, func(t *testing.T, on ...mpi.Option) {
		for range often(10) {
			ends := make(chan struct{})
			require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
				if c.Rank() == 0 {
					for peer := 1; peer <= 2; peer++ {
						for round := range 4 {
							for i, n := range sizes {
								if err := mpi.Bsend(c, pattern(n, round), peer, i); err != nil {
									return err
								}
							}
						}
					}
					close(ends)
					return nil
				}
				<-ends
				for round := range 4 {
					for i, n := range slices.Backward(sizes) {
						buf := make([]byte, n)
						if _, err := mpi.Recv(c, buf, 0, i); err != nil {
							return err
						}
						if string(buf) != string(pattern(n, round)) {
							return fmt.Errorf("round %d, %d bytes: other data", round, n)
						}
					}
				}
				return nil
			}, on...))
		}
	})
}

// A send that nobody waits for has left when the rank has: worlds that end at once after it.
func TestNetworkManyWorlds(t *testing.T) {
	for i := range often(200) {
		require.NoError(t, mpi.Run(2+i%4, func(c *mpi.Comm) error {
			next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
			if err := mpi.Send(c, pattern(40, i), next, 0); err != nil {
				return err
			}
			_, err := mpi.Recv(c, make([]byte, 40), before, 0)
			return err
		}, mpi.WithDevice("network")), "world %d", i)
	}
}

// A world leaves no goroutine and no open file behind, whether its ranks leave in good order or not.
func TestNetworkLeavesNothingBehind(t *testing.T) {
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if os.IsNotExist(err) {
			t.Skip("this system does not list the open files of a process")
		}
		require.NoError(t, err)
		return len(list)
	}
	for name, end := range map[string]error{"in good order": nil, "with an error": errors.New("end")} {
		t.Run(name, func(t *testing.T) {
			before, open := runtime.NumGoroutine(), files()
			for range 3 {
				require.ErrorIs(t, mpi.Run(3, func(c *mpi.Comm) error {
					if err := c.Barrier(); err != nil {
						return err
					}
					return end
				}, mpi.WithDevice("network")), end)
			}
			require.Eventually(t, func() bool {
				runtime.GC()
				return runtime.NumGoroutine() <= before+1 && files() <= open // that of Eventually
			}, time.Minute, 10*time.Millisecond)
		})
	}
}
