package mpi_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// A call is a collective in its three forms, with its input and what must come
// out, computed serially.
type call struct {
	name        string
	fill        func() // the buffers, before each call
	block       func() error
	begin, init func() (*mpi.Request, error)
	got         *[]pair
	want        []pair
}

// Elements are affine maps modulo a prime, whose composition is associative but
// does not commute.
type pair [2]uint32

const prime = 65521

func compose(f, g pair) pair { return pair{f[0] * g[0] % prime, (f[0]*g[1] + f[1]) % prime} }

var composition = mpi.NewOp(func(in, inout []pair) {
	for i := range in {
		inout[i] = compose(in[i], inout[i])
	}
}, false)

// addition commutes.
var addition = mpi.NewOp(func(in, inout []pair) {
	for i := range in {
		inout[i] = pair{in[i][0] + inout[i][0], in[i][1] + inout[i][1]}
	}
}, true)

// input is n elements that rank r has for rank to.
func input(r, to, n int) []pair {
	s := make([]pair, n)
	for i := range s {
		s[i] = pair{uint32(r*7919+to*104729+i*31)%(prime-1) + 1, uint32(r*31+to*17+i*7+1) % prime}
	}
	return s
}

func reduced(op mpi.Op, ranks, n int) []pair {
	acc := input(0, 0, n)
	for r := 1; r < ranks; r++ {
		next := input(r, 0, n)
		for i := range acc {
			if op.Commutes() {
				acc[i] = pair{acc[i][0] + next[i][0], acc[i][1] + next[i][1]}
			} else {
				acc[i] = compose(acc[i], next[i])
			}
		}
	}
	return acc
}

// blank is what buffers hold where nothing is to be written.
func blank(n int) []pair {
	s := make([]pair, n)
	for i := range s {
		s[i] = pair{1<<32 - 1, 0xabcd}
	}
	return s
}

// blocks are counts that differ from rank to rank, with displacements that leave
// gaps and go backwards.
func blocks(p, n, seed int) (counts, displs []int, all int) {
	counts, displs = make([]int, p), make([]int, p)
	for i := p - 1; i >= 0; i-- {
		counts[i] = (n + seed + 3*i) % (n + 2)
		displs[i] = all
		all += counts[i] + i%2
	}
	return counts, displs, all
}

// collectives makes calls with n elements a block. In place where that exists.
func collectives(c *mpi.Comm, n, root int, inPlace bool) []call {
	p, me := c.Size(), c.Rank()
	var send, recv []pair
	mine := input(me, 0, n)
	atRoot := me == root
	counts, displs, all := blocks(p, n, 5)
	column, row := make([]int, p), make([]int, p) // of Alltoallv: from each, to each
	for i := range p {
		column[i], row[i] = (n+i+2*me)%(n+2), (n+me+2*i)%(n+2)
		if inPlace {
			column[i] = (n + i + me) % (n + 2)
			row[i] = column[i]
		}
	}
	everyone := func(from func(r int) []pair) (s []pair) {
		for r := range p {
			s = append(s, from(r)...)
		}
		return s
	}
	gathered := everyone(func(r int) []pair { return input(r, 0, n) })
	placed := blank(all)
	for r := range p {
		copy(placed[displs[r]:], input(r, 0, counts[r]))
	}
	either := func(yes bool, a, b []pair) []pair {
		if yes {
			return a
		}
		return b
	}
	var calls []call
	add := func(name string, want []pair, fill func(), block func() error, begin, init func() (*mpi.Request, error)) {
		calls = append(calls, call{name: name, fill: fill, block: block, begin: begin, init: init, got: &recv,
			want: want})
	}

	add("Bcast", input(root, 0, n),
		func() { recv = either(atRoot, input(root, 0, n), blank(n)) },
		func() error { return mpi.Bcast(c, recv, root) },
		func() (*mpi.Request, error) { return mpi.Ibcast(c, recv, root) },
		func() (*mpi.Request, error) { return mpi.BcastInit(c, recv, root) })

	add("Gather", either(atRoot, gathered, nil),
		func() {
			send, recv = slices.Clone(mine), nil
			if atRoot {
				recv = blank(n * p)
				if inPlace {
					copy(recv[me*n:], mine)
					send = nil
				}
			}
		},
		func() error { return mpi.Gather(c, send, recv, root) },
		func() (*mpi.Request, error) { return mpi.Igather(c, send, recv, root) },
		func() (*mpi.Request, error) { return mpi.GatherInit(c, send, recv, root) })

	add("Gatherv", either(atRoot, placed, nil),
		func() {
			send, recv = input(me, 0, counts[me]), nil
			if atRoot {
				recv = blank(all)
				if inPlace {
					copy(recv[displs[me]:], send)
					send = nil
				}
			}
		},
		func() error { return mpi.Gatherv(c, send, recv, counts, displs, root) },
		func() (*mpi.Request, error) { return mpi.Igatherv(c, send, recv, counts, displs, root) },
		func() (*mpi.Request, error) { return mpi.GathervInit(c, send, recv, counts, displs, root) })

	inRoot := inPlace && atRoot
	add("Scatter", either(inRoot, nil, mine),
		func() {
			send, recv = nil, either(inRoot, nil, blank(n))
			if atRoot {
				send = slices.Clone(gathered)
			}
		},
		func() error { return mpi.Scatter(c, send, recv, root) },
		func() (*mpi.Request, error) { return mpi.Iscatter(c, send, recv, root) },
		func() (*mpi.Request, error) { return mpi.ScatterInit(c, send, recv, root) })

	add("Scatterv", either(inRoot, nil, input(me, 0, counts[me])),
		func() {
			send, recv = nil, either(inRoot, nil, blank(counts[me]))
			if atRoot {
				send = slices.Clone(placed)
			}
		},
		func() error { return mpi.Scatterv(c, send, counts, displs, recv, root) },
		func() (*mpi.Request, error) { return mpi.Iscatterv(c, send, counts, displs, recv, root) },
		func() (*mpi.Request, error) { return mpi.ScattervInit(c, send, counts, displs, recv, root) })

	// fillRecv is for calls that every rank makes in place or none.
	fillRecv := func(in []pair, at, size int) func() {
		return func() {
			send, recv = slices.Clone(in), blank(size)
			if inPlace {
				copy(recv[at:], in)
				send = nil
			}
		}
	}
	add("Reduce", either(atRoot, reduced(composition, p, n), nil),
		func() {
			send, recv = slices.Clone(mine), nil
			if atRoot {
				fillRecv(mine, 0, n)()
			}
		},
		func() error { return mpi.Reduce(c, send, recv, composition, root) },
		func() (*mpi.Request, error) { return mpi.Ireduce(c, send, recv, composition, root) },
		func() (*mpi.Request, error) { return mpi.ReduceInit(c, send, recv, composition, root) })
	add("Reduce, commuting", either(atRoot, reduced(addition, p, n), nil), calls[len(calls)-1].fill,
		func() error { return mpi.Reduce(c, send, recv, addition, root) },
		func() (*mpi.Request, error) { return mpi.Ireduce(c, send, recv, addition, root) },
		func() (*mpi.Request, error) { return mpi.ReduceInit(c, send, recv, addition, root) })
	if root > 0 {
		return calls // the others have no root
	}

	add("Allgather", gathered, fillRecv(mine, me*n, n*p),
		func() error { return mpi.Allgather(c, send, recv) },
		func() (*mpi.Request, error) { return mpi.Iallgather(c, send, recv) },
		func() (*mpi.Request, error) { return mpi.AllgatherInit(c, send, recv) })
	add("Allgatherv", placed, fillRecv(input(me, 0, counts[me]), displs[me], all),
		func() error { return mpi.Allgatherv(c, send, recv, counts, displs) },
		func() (*mpi.Request, error) { return mpi.Iallgatherv(c, send, recv, counts, displs) },
		func() (*mpi.Request, error) { return mpi.AllgathervInit(c, send, recv, counts, displs) })
	add("Alltoall", everyone(func(r int) []pair { return input(r, me, n) }),
		fillRecv(everyone(func(r int) []pair { return input(me, r, n) }), 0, n*p),
		func() error { return mpi.Alltoall(c, send, recv) },
		func() (*mpi.Request, error) { return mpi.Ialltoall(c, send, recv) },
		func() (*mpi.Request, error) { return mpi.AlltoallInit(c, send, recv) })

	rows := row
	if inPlace {
		rows = nil
	}
	var arrived int
	for _, n := range column {
		arrived += n
	}
	add("Alltoallv", everyone(func(r int) []pair { return input(r, me, column[r]) }),
		fillRecv(everyone(func(r int) []pair { return input(me, r, row[r]) }), 0, arrived),
		func() error { return mpi.Alltoallv(c, send, rows, nil, recv, column, nil) },
		func() (*mpi.Request, error) { return mpi.Ialltoallv(c, send, rows, nil, recv, column, nil) },
		func() (*mpi.Request, error) { return mpi.AlltoallvInit(c, send, rows, nil, recv, column, nil) })

	for _, op := range []mpi.Op{composition, addition} {
		add("Allreduce", reduced(op, p, n), fillRecv(mine, 0, n),
			func() error { return mpi.Allreduce(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.Iallreduce(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.AllreduceInit(c, send, recv, op) })
		add("Scan", reduced(op, me+1, n), fillRecv(mine, 0, n),
			func() error { return mpi.Scan(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.Iscan(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.ScanInit(c, send, recv, op) })
		before := either(inPlace, mine, blank(n)) // rank 0's recv is left alone
		if me > 0 {
			before = reduced(op, me, n)
		}
		add("Exscan", before, fillRecv(mine, 0, n),
			func() error { return mpi.Exscan(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.Iexscan(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.ExscanInit(c, send, recv, op) })

		total := 0
		for _, n := range counts {
			total += n
		}
		sum := reduced(op, p, total)
		first := 0
		for _, n := range counts[:me] {
			first += n
		}
		scattered := func(sum []pair, in []pair, n int) ([]pair, int) {
			if !inPlace {
				return sum, n
			}
			return append(slices.Clone(sum), in[n:]...), len(in)
		}
		in := input(me, 0, total)
		want, size := scattered(sum[first:first+counts[me]], in, counts[me])
		add("ReduceScatter", want, fillRecv(in, 0, size),
			func() error { return mpi.ReduceScatter(c, send, recv, counts, op) },
			func() (*mpi.Request, error) { return mpi.IreduceScatter(c, send, recv, counts, op) },
			func() (*mpi.Request, error) { return mpi.ReduceScatterInit(c, send, recv, counts, op) })
		in = input(me, 0, n*p)
		want, size = scattered(reduced(op, p, n*p)[me*n:(me+1)*n], in, n)
		add("ReduceScatterBlock", want, fillRecv(in, 0, size),
			func() error { return mpi.ReduceScatterBlock(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.IreduceScatterBlock(c, send, recv, op) },
			func() (*mpi.Request, error) { return mpi.ReduceScatterBlockInit(c, send, recv, op) })
	}
	add("Barrier", nil, func() { recv = nil }, c.Barrier, c.Ibarrier, c.BarrierInit)
	return calls
}

// perform makes a call in its three forms.
func (k *call) perform() error {
	check := func(form string, err error) error {
		if err != nil {
			return fmt.Errorf("%s, %s: %w", k.name, form, err)
		}
		if !slices.Equal(*k.got, k.want) {
			return fmt.Errorf("%s, %s: got %v, want %v", k.name, form, few(*k.got), few(k.want))
		}
		return nil
	}
	k.fill()
	if err := check("blocking", k.block()); err != nil {
		return err
	}
	k.fill()
	q, err := k.begin()
	if err == nil {
		_, err = q.Wait()
	}
	if err := check("non-blocking", err); err != nil {
		return err
	}
	k.fill()
	q, err = k.init()
	for range 2 {
		if err == nil {
			k.refill()
			err = q.Start()
		}
		if err == nil {
			_, err = q.Wait()
		}
		if err := check("persistent", err); err != nil {
			return err
		}
	}
	return q.Free()
}

// refill fills the buffers again that a persistent call refers to.
func (k *call) refill() {
	buf := *k.got
	k.fill()
	copy(buf, *k.got)
	*k.got = buf
}

func few(s []pair) []pair { return s[:min(len(s), 6)] }

var protocols = []string{"ticket", "optimistic"}

func available(t *testing.T, variant string) bool {
	t.Helper()
	return slices.Contains(mpi.Variants(), variant)
}

func TestCollectivesAgainstSerial(t *testing.T) {
	sizes := []int{0, 1, 3, 32, 300, 700}
	ranks := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	if testing.Short() {
		sizes, ranks = []int{0, 1, 600}, []int{1, 2, 3, 4, 7}
	}
	for _, variant := range protocols {
		if !available(t, variant) {
			continue // another is pinned
		}
		for _, device := range []string{"host", "prototype"} { // which has no shared memory
			t.Run(variant+" on "+device, func(t *testing.T) {
				for _, p := range ranks {
					require.NoError(t, mpi.Run(p, func(c *mpi.Comm) error {
						for _, n := range sizes {
							for root := range p {
								for _, inPlace := range []bool{false, true} {
									for _, k := range collectives(c, n, root, inPlace) {
										if err := k.perform(); err != nil {
											return fmt.Errorf("%d ranks, root %d, %d elements, in place %v: %w", p,
												root, n, inPlace, err)
										}
									}
								}
							}
						}
						return nil
					}, mpi.WithVariant(variant), mpi.WithDevice(device)))
				}
			})
		}
	}
}

// Large buffers, with all protocols.
func TestLargeCollectives(t *testing.T) {
	ranks, sizes := []int{2, 3, 5}, []int{1 << 10, 1<<17 + 1} // up to 1 MiB
	if testing.Short() {
		ranks, sizes = []int{3}, []int{1 << 13}
	}
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			for _, p := range ranks {
				require.NoError(t, mpi.Run(p, func(c *mpi.Comm) error {
					for _, n := range sizes {
						for _, k := range collectives(c, n, 0, n%2 == 0) {
							if err := k.perform(); err != nil {
								return fmt.Errorf("%d ranks, %d elements: %w", p, n, err)
							}
						}
					}
					return nil
				}, mpi.WithVariant(variant)))
			}
		})
	}
}

func TestForcedAlgorithms(t *testing.T) {
	for _, force := range []string{
		"bcast:scatter_ring,allreduce:ring,barrier:tree,gather:linear,scatter:linear,scan:linear,exscan:linear",
		"allreduce:tree,reduce:rabenseifner,allgather:ring,alltoall:bruck,reduce_scatter:halving," +
			"reduce_scatter_block:pairwise",
		"allreduce:rabenseifner,reduce:binomial,allgather:bruck,allgatherv:bruck,alltoall:linear," +
			"alltoallv:linear,reduce_scatter:pairwise",
		"bcast:direct,gather:direct,scatter:direct,allgather:direct,allgatherv:direct,alltoall:direct",
	} {
		require.NoError(t, mpi.Run(5, func(c *mpi.Comm) error {
			for _, n := range []int{0, 1, 10, 600} {
				for root := range c.Size() {
					for _, k := range collectives(c, n, root, root%2 == 1) {
						if err := k.perform(); err != nil {
							return fmt.Errorf("%d elements, root %d: %w", n, root, err)
						}
					}
				}
			}
			return nil
		}, mpi.WithCollectives(force)))
	}
	err := mpi.Run(1, func(*mpi.Comm) error { return nil }, mpi.WithCollectives("allreduce:nonsense"))
	require.ErrorIs(t, err, mpi.ErrInit)
	require.ErrorContains(t, err, "recursive_doubling, rabenseifner, ring, tree")
}

// A thousand non-blocking collectives in flight, waited for in various orders.
func TestManyInFlight(t *testing.T) {
	const n = 1000
	orders := map[string]func(i int) int{
		"as begun":  func(i int) int { return i },
		"backwards": func(i int) int { return n - 1 - i },
		"scattered": func(i int) int { return i * 387 % n },
	}
	for _, variant := range protocols {
		if !available(t, variant) {
			continue
		}
		require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
			for name, order := range orders {
				sums, reqs := make([][]int, n), make([]*mpi.Request, n)
				for i := range n {
					sums[i] = []int{i + c.Rank(), c.Rank()}
					var err error
					if i%10 == 9 {
						reqs[i], err = mpi.Ibcast(c, sums[i], i%4)
					} else {
						reqs[i], err = mpi.Iallreduce(c, nil, sums[i], mpi.Sum)
					}
					if err != nil {
						return err
					}
				}
				if err := c.Barrier(); err != nil { // does not stand in line
					return err
				}
				for i := range n {
					if _, err := reqs[order(i)].Wait(); err != nil {
						return err
					}
				}
				for i, s := range sums {
					want := []int{4*i + 6, 6}
					if i%10 == 9 {
						want = []int{i + i%4, i % 4}
					}
					if !slices.Equal(s, want) {
						return fmt.Errorf("%s: call %d gives %v, want %v", name, i, s, want)
					}
				}
			}
			return nil
		}, mpi.WithVariant(variant)))
	}
}

func TestCollectivesOfAFreedCommunicatorGoOn(t *testing.T) {
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		d, err := c.Dup()
		if err != nil {
			return err
		}
		sum := make([]int, 40)
		var reqs []*mpi.Request
		for i := range sum {
			sum[i] = i
			q, err := mpi.Iallreduce(d, nil, sum[i:i+1], mpi.Sum)
			if err != nil {
				return err
			}
			reqs = append(reqs, q)
		}
		if err := d.Free(); err != nil {
			return err
		}
		if _, err := d.Ibarrier(); !errors.Is(err, mpi.ErrComm) {
			return fmt.Errorf("a call on a freed communicator: %v", err)
		}
		if err := mpi.WaitAll(reqs...); err != nil {
			return err
		}
		for i, s := range sum {
			if s != 3*i {
				return fmt.Errorf("call %d gives %d", i, s)
			}
		}
		return nil
	}))
}

// Persistent collectives are made in the same order by all ranks, but may be
// started in any, and waited for in any.
func TestPersistentCollectivesStartInAnyOrder(t *testing.T) {
	for _, variant := range mpi.Variants() {
		require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
			const n = 5
			sums, reqs := make([][]int, n), make([]*mpi.Request, n)
			for i := range n {
				sums[i] = make([]int, 1000*i+1)
				var err error
				if reqs[i], err = mpi.AllreduceInit(c, nil, sums[i], mpi.Sum); err != nil {
					return err
				}
			}
			for round := range 4 {
				for i := range n {
					sums[i][0] = i + round
				}
				for i := range n {
					// 1, 2 and 3 have no factor in common with 5
					if err := reqs[(i*(c.Rank()+1)+round)%n].Start(); err != nil {
						return err
					}
				}
				for i := range n {
					if _, err := reqs[(i*2+c.Rank())%n].Wait(); err != nil {
						return err
					}
				}
				for i := range n {
					if sums[i][0] != 3*(i+round) {
						return fmt.Errorf("call %d in round %d: %d", i, round, sums[i][0])
					}
				}
			}
			return nil
		}, mpi.WithVariant(variant)))
	}
}

// Non-blocking collectives go on while the program computes: nobody calls
// anything until they have ended.
func TestNonBlockingCollectivesNeedNoCalls(t *testing.T) {
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
				for _, n := range []int{1, 1 << 17} {
					v, sum := make([]float64, n), make([]float64, n)
					v[n-1] = float64(c.Rank())
					received := func() uint64 { return c.Counters()["receives"] } // only looks
					before := received()
					if err := mpi.Allreduce(c, v, sum, mpi.Sum); err != nil {
						return err
					}
					messages := received() - before
					if err := c.Barrier(); err != nil {
						return err
					}
					before = received()
					q, err := mpi.Iallreduce(c, v, sum, mpi.Sum)
					if err != nil {
						return err
					}
					for deadline := time.Now().Add(30 * time.Second); received() < before+messages; {
						if time.Now().After(deadline) {
							return fmt.Errorf("%d elements: %d of %d messages without a call", n, received()-before,
								messages)
						}
						time.Sleep(time.Millisecond)
					}
					if _, err := q.Wait(); err != nil || sum[n-1] != 6 {
						return fmt.Errorf("%v, %w", sum[n-1], err)
					}
				}
				return nil
			}, mpi.WithVariant(variant)))
		})
	}
}
