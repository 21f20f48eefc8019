package virtual_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
	"github.com/exanet-mpi/exanet/variants"
)

func everyVariant(t *testing.T, f func(t *testing.T, variant string)) {
	for _, v := range mpi.Variants() {
		t.Run(v, func(t *testing.T) { f(t, v) })
	}
}

// mixed is a program of everything: short and long, blocking and not, wildcards,
// collectives, synchronous sends, computation. It checks what it receives.
func mixed(rounds int, wild bool) func(c *mpi.Comm) error {
	return func(c *mpi.Comm) error {
		n, me := c.Size(), c.Rank()
		right, left := (me+1)%n, (me-1+n)%n
		for round := range rounds {
			size := []int{0, 7, 40, 41, 100, 5000}[round%6]
			out, in := make([]byte, size), make([]byte, size)
			for i := range out {
				out[i] = byte(me + 3*i + round)
			}
			c.Compute(time.Duration(100*((me*7+round*3)%11)) * time.Nanosecond)
			from, tag := left, round
			if wild && round%4 == 3 {
				from = mpi.AnySource
			}
			if wild && round%5 == 4 {
				tag = mpi.AnyTag
			}
			r, err := mpi.Irecv(c, in, from, tag)
			if err != nil {
				return err
			}
			if round%3 == 0 {
				c.Compute(3 * time.Microsecond)
				err = mpi.Ssend(c, out, right, round)
			} else {
				err = mpi.Send(c, out, right, round)
			}
			if err != nil {
				return err
			}
			st, err := r.Wait()
			if err != nil {
				return err
			}
			if st.Source != left || st.Tag != round {
				return fmt.Errorf("rank %d round %d: %+v", me, round, st)
			}
			for i := range in {
				if in[i] != byte(left+3*i+round) {
					return fmt.Errorf("rank %d round %d: byte %d is %d", me, round, i, in[i])
				}
			}
			sum := make([]int64, 1+round%9)
			mine := make([]int64, len(sum))
			for i := range mine {
				mine[i] = int64(me)
			}
			if err := mpi.Allreduce(c, mine, sum, mpi.Sum); err != nil {
				return err
			}
			if sum[len(sum)-1] != int64(n*(n-1)/2) {
				return errors.New("wrong sum")
			}
			if err := mpi.Bcast(c, in, round%n); err != nil {
				return err
			}
		}
		return nil
	}
}

// The same program, machine and seed: the same trace, to the picosecond.
func TestSameSeedSameTrace(t *testing.T) {
	everyVariant(t, func(t *testing.T, variant string) {
		run := func(seed uint64) *virtual.Result {
			m := sim.Prototype()
			m.Costs.Noise = 0.2
			p, err := m.Shuffled(13, 1, 5)
			require.NoError(t, err)
			r, err := virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant, Seed: seed, Trace: true},
				mixed(8, variant != "optimistic"))
			require.NoError(t, err)
			return r
		}
		a, b, other := run(1), run(1), run(2)
		require.NotEmpty(t, a.Trace)
		require.Equal(t, a, b)
		require.NotEqual(t, a.Trace, other.Trace)
	})
}

// Nothing is lost, nothing comes twice, on any torus.
func TestConservation(t *testing.T) {
	everyVariant(t, func(t *testing.T, variant string) {
		rapid.Check(t, func(t *rapid.T) {
			m := sim.Prototype()
			m.Torus = sim.Torus{X: rapid.IntRange(1, 4).Draw(t, "x"), Y: rapid.IntRange(1, 3).Draw(t, "y"),
				Z: rapid.IntRange(1, 3).Draw(t, "z")}
			m.Costs.MailboxDepth = float64(rapid.SampledFrom([]int{2, 3, 1024}).Draw(t, "depth"))
			m.Costs.Noise = rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "noise")
			perNode := rapid.IntRange(1, 4).Draw(t, "ranks of an FPGA")
			ranks := rapid.IntRange(1, min(12, m.Torus.Nodes()*perNode)).Draw(t, "ranks")
			p, err := m.Shuffled(ranks, perNode, rapid.Uint64().Draw(t, "placement"))
			require.NoError(t, err)
			r, err := virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant,
				Seed: rapid.Uint64().Draw(t, "seed"), Trace: true},
				mixed(rapid.IntRange(0, 5).Draw(t, "rounds"), variant != "optimistic"))
			require.NoError(t, err)
			x := r.Totals
			require.Equal(t, x.Sent, x.Delivered+x.Lost+x.Left, "messages")
			require.Zero(t, x.Stale)
			require.Equal(t, x.Bytes, x.Written, "bytes")
			require.Equal(t, x.Writes, x.Notices)
			require.Equal(t, r.Counters.Writes, x.Writes)
			var control uint64
			for k, n := range r.Counters.Control {
				control += n
				if variants.Kind(k) == variants.CTS && variant == "readbased" {
					require.LessOrEqual(t, n, x.Writes)
				}
			}
			require.Equal(t, control, x.Sent, "what the protocols have sent is what the device has")
			// What each rank has sent to each is what that has taken, in the same order.
			type pair struct{ from, to int32 }
			sent, taken := make(map[pair][]uint64), make(map[pair][]uint64)
			for _, e := range r.Trace {
				switch e.Kind {
				case sim.Sent:
					sent[pair{e.From, e.To}] = append(sent[pair{e.From, e.To}], e.Header[2])
				case sim.Taken:
					taken[pair{e.From, e.To}] = append(taken[pair{e.From, e.To}], e.Header[2])
				}
			}
			for k, got := range taken {
				require.Equal(t, sent[k][:len(got)], got)
			}
		})
	})
}

// The protocols send the same messages on the emulated fabric as on the simulated one,
// where the order of what happens does not depend on luck.
func TestSameMessagesAsOnTheEmulatedFabric(t *testing.T) {
	everyVariant(t, func(t *testing.T, variant string) {
		if variant == "customized" {
			return // the prototype has agents that read copies, a host reads by itself
		}
		m := sim.Prototype()
		p, err := m.Ordered(4, 1)
		require.NoError(t, err)
		virt, err := virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant}, ordered)
		require.NoError(t, err)
		var mu sync.Mutex
		host := make(map[string]uint64)
		require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
			if err := ordered(c); err != nil {
				return err
			}
			if err := c.Barrier(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for k, n := range c.Counters() {
				host[k] += n
			}
			return nil
		}, mpi.WithVariant(variant), mpi.WithDevice("prototype"), mpi.WithThreadLevel(mpi.ThreadSingle)))
		for k := variants.RTS; k < variants.Kinds; k++ {
			if (k == variants.RTR || k == variants.Ack) && (variant == "rtr" || variant == "envless") {
				continue // which of the two an eager message meets is a matter of time; see below
			}
			require.Equal(t, host[k.String()], virt.Counters.Control[k], k)
		}
		require.Equal(t, host["RTR"]+host["Ack"], virt.Counters.Control[variants.RTR]+
			virt.Counters.Control[variants.Ack])
		require.Equal(t, host["writes"], virt.Counters.Writes)
		require.Equal(t, host["fast_receives"], virt.Counters.FastReceives)
		require.Equal(t, host["receives"], virt.Counters.Receives)
	})
}

// ordered is a program in which each message finds its receive posted, and known to
// be, or posted later: a message back tells when to go on.
func ordered(c *mpi.Comm) error {
	peer := c.Rank() ^ 1
	word := make([]byte, 1)
	told := func(q *mpi.Request, err error) error { // the peer, that q is under way
		if err == nil {
			err = mpi.Send(c, word, peer, 2)
		}
		if err == nil {
			_, err = q.Wait()
		}
		return err
	}
	for round := range 12 {
		buf := make([]byte, []int{8, 200, 3000}[round%3])
		receiver := c.Rank()%2 == round/3%2
		first := round >= 6 // the receiver
		switch {
		case receiver && first:
			if err := told(mpi.Irecv(c, buf, peer, 1)); err != nil {
				return err
			}
		case receiver:
			if _, err := mpi.Recv(c, word, peer, 2); err != nil {
				return err
			}
			if _, err := mpi.Recv(c, buf, peer, 1); err != nil {
				return err
			}
		case first:
			if _, err := mpi.Recv(c, word, peer, 2); err != nil {
				return err
			}
			if err := mpi.Send(c, buf, peer, 1); err != nil {
				return err
			}
		default:
			if err := told(mpi.Isend(c, buf, peer, 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestDeadlockIsTold(t *testing.T) {
	everyVariant(t, func(t *testing.T, variant string) {
		m := sim.Prototype()
		r, err := virtual.Run(virtual.Config{Machine: m, Placement: m.SameQFDB(), Variant: variant, Limit: time.Minute},
			func(c *mpi.Comm) error {
				_, err := mpi.Recv(c, make([]byte, 100), 1-c.Rank(), 7)
				return err
			})
		require.NotNil(t, r)
		require.ErrorIs(t, err, virtual.ErrDeadlock)
		var d *virtual.DeadlockError
		require.ErrorAs(t, err, &d)
		require.Equal(t, 2, d.Ranks)
		require.NotEmpty(t, d.Waiting)
		require.Contains(t, d.Waiting[0], "tag 7")
	})
}

func TestErrorsAndPanicsOfRanks(t *testing.T) {
	boom := errors.New("boom")
	everyVariant(t, func(t *testing.T, variant string) {
		for name, end := range map[string]func() error{"error": func() error { return boom },
			"panic": func() error { panic(boom) }} {
			t.Run(name, func(t *testing.T) {
				m := sim.Prototype()
				p, err := m.Ordered(5, 1)
				require.NoError(t, err)
				_, err = virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant},
					func(c *mpi.Comm) error {
						if c.Rank() == 3 {
							c.Compute(time.Millisecond)
							return end()
						}
						_, err := mpi.Recv(c, make([]byte, 100), 3, 7)
						if !errors.Is(err, mpi.ErrProcFailed) {
							return fmt.Errorf("rank %d: %w", c.Rank(), err)
						}
						return err
					})
				require.ErrorContains(t, err, "boom")
				require.NotErrorIs(t, err, mpi.ErrProcFailed)
			})
		}
	})
}

// While a rank computes, its background answers those that wait for it.
func TestBackgroundMakesProgress(t *testing.T) {
	everyVariant(t, func(t *testing.T, variant string) {
		m := sim.Prototype()
		ends := make([]time.Duration, 2)
		_, err := virtual.Run(virtual.Config{Machine: m, Placement: m.SameQFDB(), Variant: variant},
			func(c *mpi.Comm) error {
				buf := make([]byte, 10000)
				var q *mpi.Request
				var err error
				if c.Rank() == 0 {
					q, err = mpi.Isend(c, buf, 1, 1)
				} else {
					q, err = mpi.Irecv(c, buf, 0, 1)
				}
				if err != nil {
					return err
				}
				if c.Rank() == 0 {
					c.Compute(time.Second)
				}
				_, err = q.Wait()
				ends[c.Rank()] = c.Now()
				return err
			})
		require.NoError(t, err)
		require.Less(t, ends[1], time.Millisecond)
		require.GreaterOrEqual(t, ends[0], time.Second)
		require.Less(t, ends[0], time.Second+time.Millisecond)
	})
}

func TestBadConfigurations(t *testing.T) {
	m := sim.Prototype()
	main := func(*mpi.Comm) error { return nil }
	for want, cfg := range map[string]virtual.Config{
		"no ranks": {Machine: m},
		"FPGA 128": {Machine: m, Placement: sim.Placement{0, 128}},
		"FPGA -1":  {Machine: m, Placement: sim.Placement{-1}},
		"protocol": {Machine: m, Placement: m.SameQFDB(), Variant: "nosuch"},
	} {
		_, err := virtual.Run(cfg, main)
		require.ErrorContains(t, err, want)
	}
	_, err := virtual.Run(virtual.Config{Machine: m, Placement: m.SameQFDB()}, nil)
	require.ErrorIs(t, err, mpi.ErrInit)
}

// What a rank needs does not grow with the number of ranks, but for the peers that it
// talks to.
func TestNoRankHasATableOfAllRanks(t *testing.T) {
	perRank := func(ranks int) uint64 {
		m := sim.Prototype()
		m.Torus = sim.Torus{X: 8, Y: 8, Z: 8}
		p, err := m.Ordered(ranks, 1)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = virtual.Run(virtual.Config{Machine: m, Placement: p}, func(c *mpi.Comm) error { return c.Barrier() })
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / uint64(ranks)
	}
	few := perRank(128)
	many := perRank(2048) // 11 peers instead of 7, or 16 times as many ranks
	require.Less(t, many, 3*few)
}
