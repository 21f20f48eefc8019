package datatype

import (
	"slices"

	"pgregory.net/rapid"
)

// oracle is a type as the standard defines it: the list of its elements with
// their displacements, one entry an element.
type oracle struct {
	entries []entry
	lb, ub  int
	marked  bool // bounds were given
	bounded bool // lb and ub mean something
}

type entry struct{ disp, size int }

func (o *oracle) extent() int { return o.ub - o.lb }

// put adds the oracle p at a displacement.
func (o *oracle) put(p *oracle, disp int) {
	for _, e := range p.entries {
		o.entries = append(o.entries, entry{disp + e.disp, e.size})
	}
	if !p.bounded || o.marked && !p.marked {
		return
	}
	if o.bounded && o.marked == p.marked {
		o.lb, o.ub = min(o.lb, disp+p.lb), max(o.ub, disp+p.ub)
	} else {
		o.lb, o.ub = disp+p.lb, disp+p.ub
	}
	o.bounded, o.marked = true, p.marked
}

func (o *oracle) trueBounds() (lb, ub int) {
	for i, e := range o.entries {
		if i == 0 {
			lb, ub = e.disp, e.disp+e.size
		}
		lb, ub = min(lb, e.disp), max(ub, e.disp+e.size)
	}
	return lb, ub
}

// stream lists the displacement of every byte of count elements, in the order
// of the packed stream.
func (o *oracle) stream(count int) (at []int) {
	for i := range count {
		for _, e := range o.entries {
			for b := range e.size {
				at = append(at, i*o.extent()+e.disp+b)
			}
		}
	}
	return at
}

// typed is a type with its oracle.
type typed struct {
	t *Type
	o *oracle
}

var leaves = []*Type{Byte, Int16, Int32, Float32, Float64, Complex128, LongDouble, DoubleInt, ShortInt, LongDoubleInt}

func drawLeaf(t *rapid.T) typed {
	l := rapid.SampledFrom(leaves).Draw(t, "leaf")
	o := &oracle{bounded: true, ub: l.ub}
	if l.parts == nil {
		o.entries = []entry{{0, l.size}}
	} else {
		v := l.parts[0].t
		o.entries = []entry{{0, v.size}, {roundUp(v.size, 4), 4}}
	}
	return typed{l, o}
}

// draw makes a random type of at most the given depth.
func draw(t *rapid.T, depth int) typed {
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "stop") == 0 {
		return drawLeaf(t)
	}
	small := rapid.IntRange(0, 4)
	shift := rapid.IntRange(-6, 6)
	in := draw(t, depth-1)
	o := new(oracle)
	var made *Type
	var err error
	rows := func(count, blocklen, stride int) {
		for i := range count {
			for j := range blocklen {
				o.put(in.o, i*stride+j*in.o.extent())
			}
		}
	}
	lists := func(unit int, hetero bool) (lens, displs []int) {
		n := small.Draw(t, "blocks")
		one := small.Draw(t, "length")
		for range n {
			if hetero {
				one = small.Draw(t, "length")
			}
			d := shift.Draw(t, "displacement")
			if unit == 1 {
				d = d*8 + rapid.IntRange(0, 1).Draw(t, "odd")*3
			}
			lens, displs = append(lens, one), append(displs, d)
			for j := range one {
				o.put(in.o, d*unit+j*in.o.extent())
			}
		}
		if !hetero {
			lens = []int{one}
		}
		return lens, displs
	}
	switch rapid.IntRange(0, 11).Draw(t, "constructor") {
	case 0:
		n := small.Draw(t, "count")
		rows(1, n, 0)
		made, err = Contiguous(n, in.t)
	case 1:
		n, b, s := small.Draw(t, "count"), small.Draw(t, "length"), shift.Draw(t, "stride")
		rows(n, b, s*in.o.extent())
		made, err = Vector(n, b, s, in.t)
	case 2:
		n, b, s := small.Draw(t, "count"), small.Draw(t, "length"),
			4*shift.Draw(t, "stride")+rapid.IntRange(0, 1).Draw(t, "odd")
		rows(n, b, s)
		made, err = Hvector(n, b, s, in.t)
	case 3:
		lens, displs := lists(in.o.extent(), true)
		made, err = Indexed(lens, displs, in.t)
	case 4:
		lens, displs := lists(1, true)
		made, err = Hindexed(lens, displs, in.t)
	case 5:
		lens, displs := lists(in.o.extent(), false)
		made, err = IndexedBlock(lens[0], displs, in.t)
	case 6:
		lens, displs := lists(1, false)
		made, err = HindexedBlock(lens[0], displs, in.t)
	case 7:
		return drawStruct(t, depth)
	case 8:
		return drawSubarray(t, in)
	case 9:
		return drawDarray(t, in)
	case 10:
		lb, extent := 4*shift.Draw(t, "lb"), 4*shift.Draw(t, "extent")
		*o = *in.o
		o.lb, o.ub, o.marked, o.bounded = lb, lb+extent, true, true
		made, err = Resized(in.t, lb, extent)
	default:
		*o = *in.o
		made, err = Dup(in.t)
	}
	if err != nil {
		t.Fatal(err)
	}
	return typed{made, o}
}

func drawStruct(t *rapid.T, depth int) typed {
	o := new(oracle)
	var lens, displs []int
	var types []*Type
	align := 0
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		in := draw(t, depth-1)
		n, d := rapid.IntRange(0, 3).Draw(t, "length"), 4*rapid.IntRange(-4, 12).Draw(t, "displacement")
		lens, displs, types = append(lens, n), append(displs, d), append(types, in.t)
		align = max(align, in.t.align)
		for j := range n {
			o.put(in.o, d+j*in.o.extent())
		}
	}
	if !o.marked && align > 0 {
		for (o.ub-o.lb)%align != 0 {
			o.ub++
		}
	}
	made, err := Struct(lens, displs, types)
	if err != nil {
		t.Fatal(err)
	}
	return typed{made, o}
}

// index calls f for every index of an array in the order of memory.
func index(sizes []int, order Order, f func(at int, idx []int)) {
	total := 1
	for _, n := range sizes {
		total *= n
	}
	idx := make([]int, len(sizes))
	for at := range total {
		rest := at
		for k := range sizes {
			d := k
			if order == OrderC {
				d = len(sizes) - 1 - k
			}
			idx[d], rest = rest%sizes[d], rest/sizes[d]
		}
		f(at, idx)
	}
}

// pick makes the oracle of the elements of an array that a rule holds.
func pick(in *oracle, sizes []int, order Order, held func(idx []int) bool) *oracle {
	o := new(oracle)
	total := 0
	index(sizes, order, func(at int, idx []int) {
		total++
		if held(idx) {
			o.put(in, at*in.extent())
		}
	})
	o.lb, o.ub, o.marked, o.bounded = 0, total*in.extent(), true, true
	return o
}

func drawSubarray(t *rapid.T, in typed) typed {
	var sizes, subs, starts []int
	for range rapid.IntRange(1, 3).Draw(t, "dimensions") {
		n := rapid.IntRange(1, 4).Draw(t, "size")
		sub := rapid.IntRange(1, n).Draw(t, "subsize")
		sizes, subs, starts = append(sizes, n), append(subs, sub),
			append(starts, rapid.IntRange(0, n-sub).Draw(t, "start"))
	}
	order := rapid.SampledFrom([]Order{OrderC, OrderFortran}).Draw(t, "order")
	o := pick(in.o, sizes, order, func(idx []int) bool {
		for d, i := range idx {
			if i < starts[d] || i >= starts[d]+subs[d] {
				return false
			}
		}
		return true
	})
	made, err := Subarray(sizes, subs, starts, order, in.t)
	if err != nil {
		t.Fatal(err)
	}
	return typed{made, o}
}

func drawDarray(t *rapid.T, in typed) typed {
	var gsizes, dargs, psizes []int
	var dists []Distribution
	size := 1
	for range rapid.IntRange(1, 3).Draw(t, "dimensions") {
		n := rapid.IntRange(1, 6).Draw(t, "size")
		dist := rapid.SampledFrom([]Distribution{DistributeNone, DistributeBlock, DistributeCyclic}).Draw(t,
			"distribution")
		p, arg := 1, DistributeDefault
		if dist != DistributeNone {
			p = rapid.IntRange(1, 3).Draw(t, "processes")
			if rapid.Bool().Draw(t, "with argument") {
				arg = rapid.IntRange(1, 4).Draw(t, "argument")
				if dist == DistributeBlock {
					arg = max(arg, (n+p-1)/p)
				}
			}
		}
		gsizes, dists, dargs, psizes = append(gsizes, n), append(dists, dist), append(dargs, arg), append(psizes, p)
		size *= p
	}
	rank := rapid.IntRange(0, size-1).Draw(t, "rank")
	coords := make([]int, len(psizes)) // row-major
	for i, r := len(psizes)-1, rank; i >= 0; i-- {
		coords[i], r = r%psizes[i], r/psizes[i]
	}
	order := rapid.SampledFrom([]Order{OrderC, OrderFortran}).Draw(t, "order")
	o := pick(in.o, gsizes, order, func(idx []int) bool {
		for d, i := range idx {
			blk := dargs[d]
			switch dists[d] {
			case DistributeNone:
				continue
			case DistributeBlock:
				if blk == DistributeDefault {
					blk = (gsizes[d] + psizes[d] - 1) / psizes[d]
				}
			default:
				if blk == DistributeDefault {
					blk = 1
				}
			}
			if i/blk%psizes[d] != coords[d] {
				return false
			}
		}
		return true
	})
	made, err := Darray(size, rank, gsizes, dists, dargs, psizes, order, in.t)
	if err != nil {
		t.Fatal(err)
	}
	return typed{made, o}
}

// arena is memory around a view, with room for all displacements.
type arena struct {
	mem []byte
	org int
}

func arenaFor(stream []int) arena {
	lo, hi := 0, 0
	for _, at := range stream {
		lo, hi = min(lo, at), max(hi, at+1)
	}
	return arena{make([]byte, hi-lo+64), 32 - lo}
}

func distinct(stream []int) bool {
	s := slices.Sorted(slices.Values(stream))
	return len(slices.Compact(s)) == len(stream)
}
