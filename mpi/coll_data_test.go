package mpi_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// spread lays pairs out with gaps: 24 bytes each, the numbers at 4 and 16.
type spread []byte

const apart = 24

func newSpread(s []pair) spread {
	b := bytes.Repeat([]byte{0xee}, len(s)*apart)
	for i, p := range s {
		*(*uint32)(unsafe.Pointer(&b[i*apart+4])) = p[0]
		*(*uint32)(unsafe.Pointer(&b[i*apart+16])) = p[1]
	}
	return b
}

func gappy(t *testing.T) *datatype.Type {
	two, err := datatype.Indexed([]int{1, 1}, []int{1, 4}, datatype.Uint32)
	require.NoError(t, err)
	g, err := datatype.Resized(two, 0, apart)
	require.NoError(t, err)
	return g
}

func (b spread) at(i int) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b[i*apart:])) }

func (b spread) view(n int, t *datatype.Type) datatype.View {
	return datatype.View{Base: unsafe.Pointer(unsafe.SliceData(b)), Count: n, Type: t}
}

// composeData is composition on elements with gaps.
func composeData(in, inout unsafe.Pointer, n int, t *datatype.Type) {
	_, extent := t.Extent()
	for i := range n {
		f, g := unsafe.Add(in, i*extent), unsafe.Add(inout, i*extent)
		a, b := (*uint32)(unsafe.Add(g, 4)), (*uint32)(unsafe.Add(g, 16))
		h := compose(pair{*(*uint32)(unsafe.Add(f, 4)), *(*uint32)(unsafe.Add(f, 16))}, pair{*a, *b})
		*a, *b = h[0], h[1]
	}
}

// The calls on data do what the generic ones do, and touch no gap.
func TestCollectivesOfDataWithGaps(t *testing.T) {
	g := gappy(t)
	op := mpi.NewOpFunc(composeData, false)
	const n = 5
	for _, p := range []int{1, 2, 5} {
		for root := range p {
			for _, inPlace := range []bool{false, true} {
				require.NoError(t, mpi.Run(p, func(c *mpi.Comm) error {
					return dataCollectives(c, g, op, n, root, inPlace)
				}))
			}
		}
	}
}

func dataCollectives(c *mpi.Comm, g *datatype.Type, op mpi.Op, n, root int, inPlace bool) error {
	p, me := c.Size(), c.Rank()
	atRoot := me == root
	mine := input(me, 0, n)
	counts, displs, all := blocks(p, n, 5)
	var gathered []pair
	placed := blank(all)
	for r := range p {
		gathered = append(gathered, input(r, 0, n)...)
		copy(placed[displs[r]:], input(r, 0, counts[r]))
	}
	out := newSpread(mine)
	send := out.view(n, g)
	first := 0
	for _, k := range counts[:me] {
		first += k
	}
	total := first
	for _, k := range counts[me:] {
		total += k
	}

	// do makes a call in its three forms, with recv filled anew.
	do := func(name string, want []pair, fill []pair, call func(recv spread) mpi.DataCall) error {
		for form := range 3 {
			recv := newSpread(fill)
			d := call(recv)
			var err error
			var q *mpi.Request
			switch form {
			case 0:
				err = d.Do()
			case 1:
				if q, err = d.Begin(); err == nil {
					_, err = q.Wait()
				}
			case 2:
				if q, err = d.Init(); err == nil {
					err = q.Start()
				}
				if err == nil {
					_, err = q.Wait()
				}
			}
			if err != nil {
				return err
			}
			if !bytes.Equal(recv, newSpread(want)) {
				return fmt.Errorf("%s: root %d, in place %v, form %d: %x, want %x", name, root, inPlace, form, recv,
					newSpread(want))
			}
		}
		return nil
	}
	in := func(s datatype.View) datatype.View {
		if inPlace {
			return mpi.InPlace
		}
		return s
	}
	// with is a buffer that holds what a call in place finds.
	with := func(n, at int, s []pair) []pair {
		b := blank(n)
		if inPlace {
			copy(b[at:], s)
		}
		return b
	}
	if err := do("Bcast", input(root, 0, n), map[bool][]pair{true: input(root, 0, n), false: blank(n)}[atRoot],
		func(recv spread) mpi.DataCall {
			return c.BcastData(recv.view(n, g), root)
		}); err != nil {
		return err
	}
	atRootOnly := func(s datatype.View) datatype.View {
		if atRoot {
			return in(s)
		}
		return s
	}
	gatherWant, gatherv, reduceWant := blank(n*p), blank(all), blank(n)
	gatherFill, gathervFill, reduceFill := gatherWant, gatherv, reduceWant
	if atRoot {
		gatherWant, gatherv, reduceWant = gathered, placed, reduced(composition, p, n)
		gatherFill, gathervFill, reduceFill = with(n*p, me*n, mine), with(all, displs[me], input(me, 0, counts[me])),
			with(n, 0, mine)
	}
	ownv := newSpread(input(me, 0, counts[me]))
	rows, whole := newSpread(placed), newSpread(gathered)
	scatterWant, scattervWant := mine, input(me, 0, counts[me])
	if atRoot && inPlace {
		scatterWant, scattervWant = blank(n), blank(counts[me])
	}
	var row, column []pair
	for r := range p {
		row, column = append(row, input(me, r, n)...), append(column, input(r, me, n)...)
	}
	rowData := newSpread(row)
	evenly, offsets, types := make([]int, p), make([]int, p), make([]*datatype.Type, p)
	for i := range p {
		evenly[i], offsets[i], types[i] = n, i*n*apart, g
	}
	vector := func(s spread, counts, displs []int) mpi.Vector {
		return mpi.Vector{Base: s.at(0), Counts: counts, Displs: displs, Type: g}
	}
	byTypes := func(s spread) mpi.Vector {
		return mpi.Vector{Base: s.at(0), Counts: evenly, Displs: offsets, Types: types}
	}
	orInPlace := func(v mpi.Vector) mpi.Vector {
		if inPlace {
			return mpi.Vector{}
		}
		return v
	}
	sum, lots := reduced(composition, p, total), newSpread(input(me, 0, total))
	scattered := func(want, in []pair, n int) ([]pair, []pair) {
		if inPlace {
			return append(slices.Clone(want), in[n:]...), in
		}
		return want, blank(n)
	}
	rsWant, rsFill := scattered(sum[first:first+counts[me]], input(me, 0, total), counts[me])
	rsbWant, rsbFill := scattered(reduced(composition, p, n*p)[me*n:(me+1)*n], input(me, 0, n*p), n)
	exscan := with(n, 0, mine)
	if me > 0 {
		exscan = reduced(composition, me, n)
	}
	inputs := newSpread(input(me, 0, n*p))
	return errors.Join(
		do("Gather", gatherWant, gatherFill, func(recv spread) mpi.DataCall {
			return c.GatherData(atRootOnly(send), recv.view(n, g), root)
		}),
		do("Gatherv", gatherv, gathervFill, func(recv spread) mpi.DataCall {
			return c.GathervData(atRootOnly(ownv.view(counts[me], g)), vector(recv, counts, displs), root)
		}),
		do("Scatter", scatterWant, blank(n), func(recv spread) mpi.DataCall {
			return c.ScatterData(whole.view(n, g), atRootOnly(recv.view(n, g)), root)
		}),
		do("Scatterv", scattervWant, blank(counts[me]), func(recv spread) mpi.DataCall {
			return c.ScattervData(vector(rows, counts, displs), atRootOnly(recv.view(counts[me], g)), root)
		}),
		do("Allgather", gathered, with(n*p, me*n, mine), func(recv spread) mpi.DataCall {
			return c.AllgatherData(in(send), recv.view(n, g))
		}),
		do("Allgatherv", placed, with(all, displs[me], input(me, 0, counts[me])), func(recv spread) mpi.DataCall {
			return c.AllgathervData(in(ownv.view(counts[me], g)), vector(recv, counts, displs))
		}),
		do("Alltoall", column, with(n*p, 0, row), func(recv spread) mpi.DataCall {
			return c.AlltoallData(in(rowData.view(n, g)), recv.view(n, g))
		}),
		do("Alltoallv", column, with(n*p, 0, row), func(recv spread) mpi.DataCall {
			return c.AlltoallvData(orInPlace(vector(rowData, evenly, nil)), vector(recv, evenly, nil))
		}),
		do("Alltoallw", column, with(n*p, 0, row), func(recv spread) mpi.DataCall {
			return c.AlltoallvData(orInPlace(byTypes(rowData)), byTypes(recv))
		}),
		do("Reduce", reduceWant, reduceFill, func(recv spread) mpi.DataCall {
			return c.ReduceData(atRootOnly(send), recv.view(n, g), op, root)
		}),
		do("Allreduce", reduced(composition, p, n), with(n, 0, mine), func(recv spread) mpi.DataCall {
			return c.AllreduceData(in(send), recv.view(n, g), op)
		}),
		do("Scan", reduced(composition, me+1, n), with(n, 0, mine), func(recv spread) mpi.DataCall {
			return c.ScanData(in(send), recv.view(n, g), op)
		}),
		do("Exscan", exscan, with(n, 0, mine), func(recv spread) mpi.DataCall {
			return c.ExscanData(in(send), recv.view(n, g), op)
		}),
		do("ReduceScatter", rsWant, rsFill, func(recv spread) mpi.DataCall {
			return c.ReduceScatterData(unsafe.Pointer(unsafe.SliceData(lots)), unsafe.Pointer(unsafe.SliceData(recv)),
				inPlace, counts, g, op)
		}),
		do("ReduceScatterBlock", rsbWant, rsbFill, func(recv spread) mpi.DataCall {
			return c.ReduceScatterBlockData(inputs.at(0), recv.at(0), inPlace, n, g, op)
		}),
	)
}

// An operator on a type whose data reach beyond its extent sees each element in
// its own layout.
func TestOperatorsOnOverlappingElements(t *testing.T) {
	// The numbers at 4 and 16, and the next element 8 bytes on: they interleave.
	two, err := datatype.Indexed([]int{1, 1}, []int{1, 4}, datatype.Uint32)
	require.NoError(t, err)
	narrow, err := datatype.Resized(two, 0, 8)
	require.NoError(t, err)
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		memory := make([]uint32, 8)
		v := datatype.View{Base: unsafe.Pointer(&memory[0]), Count: 2, Type: narrow}
		for i, s := range input(c.Rank(), 0, 2) {
			memory[2*i+1], memory[2*i+4] = s[0], s[1]
		}
		if err := c.AllreduceData(mpi.InPlace, v, mpi.NewOpFunc(composeData, false)).Do(); err != nil {
			return err
		}
		for i, s := range reduced(composition, 3, 2) {
			if memory[2*i+1] != s[0] || memory[2*i+4] != s[1] {
				return fmt.Errorf("%v, want %v", memory, s)
			}
		}
		return nil
	}))
}

func TestReductionsOfPairsAndMixtures(t *testing.T) {
	require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
		type located struct { // a gap behind the index
			value float64
			index int32
		}
		v := []located{{float64(c.Rank() % 3), int32(10 + c.Rank())}, {-1, int32(c.Rank())}}
		at := datatype.View{Base: unsafe.Pointer(&v[0]), Count: 2, Type: datatype.DoubleInt}
		if err := c.AllreduceData(mpi.InPlace, at, mpi.MaxLoc).Do(); err != nil {
			return err
		}
		if v[0].value != 2 || v[0].index != 12 || v[1].index != 0 {
			return fmt.Errorf("MaxLoc: %v", v)
		}
		// Every second of six numbers.
		numbers := []int32{1, 2, 3, 4, 5, 6}
		third, err := datatype.Vector(3, 1, 2, datatype.Int32)
		if err != nil {
			return err
		}
		some := datatype.View{Base: unsafe.Pointer(&numbers[0]), Count: 1, Type: third}
		if err := c.AllreduceData(mpi.InPlace, some, mpi.Sum).Do(); err != nil {
			return err
		}
		if !slices.Equal(numbers, []int32{4, 2, 12, 4, 20, 6}) {
			return fmt.Errorf("every second: %v", numbers)
		}
		in := []int32{1, 1, 1, 1, 1, 1}
		if err := c.ReduceLocalData(datatype.View{Base: unsafe.Pointer(&in[0]), Count: 1, Type: third}, some,
			mpi.Prod); err != nil {
			return err
		}
		mixed, err := datatype.Struct([]int{1, 1}, []int{0, 8}, []*datatype.Type{datatype.Int32, datatype.Float64})
		if err != nil {
			return err
		}
		none := datatype.View{Base: unsafe.Pointer(&numbers[0]), Count: 1, Type: mixed}
		for name, check := range map[string]struct{ err, want error }{
			"mixed elements":       {c.AllreduceData(mpi.InPlace, none, mpi.Sum).Do(), mpi.ErrOp},
			"typed operator":       {c.AllreduceData(mpi.InPlace, some, composition).Do(), mpi.ErrOp},
			"other elements":       {c.AllreduceData(at, some, mpi.MaxLoc).Do(), mpi.ErrType},
			"in place at a leaf":   {c.GatherData(mpi.InPlace, some, (c.Rank()+1)%4).Do(), mpi.ErrArg},
			"broadcast in place":   {c.BcastData(mpi.InPlace, 0).Do(), mpi.ErrArg},
			"negative count":       {c.BcastData(datatype.View{Count: -2}, 0).Do(), mpi.ErrCount},
			"no type":              {c.BcastData(datatype.View{Count: 2}, 0).Do(), mpi.ErrType},
			"no blocks":            {c.AllgathervData(some, mpi.Vector{}).Do(), mpi.ErrCount},
			"blocks with no type":  {c.AllgathervData(some, mpi.Vector{Counts: []int{1, 1, 1, 1}}).Do(), mpi.ErrType},
			"blocks and their sum": {c.AllgatherData(some, at).Do(), mpi.ErrCount},
		} {
			if !errors.Is(check.err, check.want) {
				return fmt.Errorf("%s: %v", name, check.err)
			}
		}
		return nil
	}))
}

// A rank that has other things to do while it waits meets those that have not.
func TestBlockingCollectiveAsARequest(t *testing.T) {
	const ranks, rounds = 3, 20
	require.NoError(t, mpi.Run(ranks, func(c *mpi.Comm) error {
		for round := range rounds {
			aside := round%ranks == c.Rank()
			end := func(d mpi.DataCall) error {
				if !aside {
					return d.Do()
				}
				q, err := d.BeginDo()
				if err == nil {
					_, err = q.Wait()
				}
				return err
			}
			other, err := c.Ibarrier()
			if err != nil {
				return err
			}
			if !aside && round%2 == 0 {
				err = c.Barrier()
			} else {
				err = end(c.BarrierCall())
			}
			if err != nil {
				return err
			}
			v, sum := []int32{int32(c.Rank())}, []int32{0}
			words := func(s []int32) datatype.View {
				return datatype.View{Base: unsafe.Pointer(&s[0]), Count: 1, Type: datatype.Int32}
			}
			if err := end(c.AllreduceData(words(v), words(sum), mpi.Sum)); err != nil {
				return err
			}
			if sum[0] != ranks*(ranks-1)/2 {
				return fmt.Errorf("sum %d", sum[0])
			}
			if _, err := other.Wait(); err != nil {
				return err
			}
		}
		return nil
	}))
}
