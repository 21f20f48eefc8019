package datatype

import "sort"

// node is a part of a layout: size bytes of packed data and where they lie,
// relative to an origin that whoever holds the node knows.
//
//	block     one block
//	strided   count blocks, stride bytes from one to the next
//	blocks    blocks at listed places
//	loop      count copies of a body, stride bytes from one to the next
//	list      different nodes
type node struct {
	op     op
	off    int // of the first block, or of the origin of the parts
	size   int // bytes of data
	block  int // bytes of a block, if all have the same
	count  int
	stride int
	blocks int // blocks in all
	body   *node
	places *places
	kids   []node
	ends   []int // of the kids, in the packed stream
}

// places lists the blocks of a node. ends has the end of each block in the
// packed stream; it is nil if all blocks have the same length.
type places struct{ offs, ends []int }

type op uint8

const (
	opEmpty op = iota
	opBlock
	opStrided
	opBlocks
	opLoop
	opList
)

func block(off, n int) node {
	if n == 0 {
		return node{}
	}
	return node{op: opBlock, off: off, size: n, block: n, blocks: 1}
}

// repeat returns the layout of count copies of n, stride bytes apart. It keeps n
// and does not allocate.
func repeat(n *node, count, stride int) node {
	switch {
	case count == 0 || n.size == 0:
		return node{}
	case count == 1:
		return *n
	case n.op == opBlock && stride == n.block:
		return block(n.off, count*n.block)
	case n.op == opBlock:
		return node{op: opStrided, off: n.off, size: count * n.size, block: n.block, count: count, stride: stride,
			blocks: count}
	case n.op == opStrided && stride == n.count*n.stride:
		r := *n
		r.size, r.count, r.blocks = r.size*count, r.count*count, r.blocks*count
		return r
	}
	return node{op: opLoop, size: count * n.size, count: count, stride: stride, blocks: count * n.blocks, body: n}
}

// flattened is how many blocks a list may have that is made one of blocks.
const flattened = 64

// concat returns the layout of several in a row.
func concat(nodes []node) node {
	keep := nodes[:0]
	total := 0
	for _, n := range nodes {
		if n.size > 0 {
			keep = append(keep, n)
			total += n.blocks
		}
	}
	switch len(keep) {
	case 0:
		return node{}
	case 1:
		return keep[0]
	}
	flat := true
	for i := range keep {
		flat = flat && (total <= flattened || keep[i].op == opBlock)
	}
	if flat {
		var b blocks
		for i := range keep {
			b.addNode(&keep[i])
		}
		return b.node()
	}
	list := node{op: opList, kids: keep, ends: make([]int, len(keep)), blocks: total}
	for i := range keep {
		list.size += keep[i].size
		list.ends[i] = list.size
	}
	return list
}

// blocks collects blocks; neighbours in memory that follow each other become
// one.
type blocks struct{ offs, ends []int }

func (b *blocks) end() int {
	if len(b.ends) == 0 {
		return 0
	}
	return b.ends[len(b.ends)-1]
}

func (b *blocks) add(off, n int) {
	if n == 0 {
		return
	}
	i := len(b.offs) - 1
	if i >= 0 && b.offs[i]+b.ends[i]-startOf(b.ends, i) == off {
		b.ends[i] += n
		return
	}
	b.ends = append(b.ends, b.end()+n)
	b.offs = append(b.offs, off)
}

func (b *blocks) addNode(n *node) {
	var room [16]Segment
	for from := 0; from < n.size; {
		var segs []Segment
		segs, from = n.segments(room[:0], 0, from, n.size)
		for _, s := range segs {
			b.add(s.Off, s.Len)
		}
	}
}

// startOf returns where part i begins in the packed stream.
func startOf(ends []int, i int) int {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

// node makes the simplest node of the blocks.
func (b *blocks) node() node {
	count := len(b.offs)
	if count == 0 {
		return node{}
	}
	first := b.ends[0]
	if count == 1 {
		return block(b.offs[0], first)
	}
	equal, regular := true, true
	for i := 1; i < count; i++ {
		equal = equal && b.ends[i]-b.ends[i-1] == first
		regular = regular && b.offs[i]-b.offs[i-1] == b.offs[1]-b.offs[0]
	}
	if equal && regular {
		one := block(b.offs[0], first)
		return repeat(&one, count, b.offs[1]-b.offs[0])
	}
	n := node{op: opBlocks, size: b.end(), count: count, blocks: count, places: &places{offs: b.offs, ends: b.ends}}
	if equal {
		n.block, n.places.ends = first, nil
	}
	return n
}

// find returns the part that holds byte at of the packed stream, and where it
// begins.
func find(ends []int, at int) (i, begin int) {
	i = sort.SearchInts(ends, at+1)
	return i, startOf(ends, i)
}

// place returns where block i of a node of blocks lies.
func (n *node) place(i int) (off, size int) {
	p := n.places
	if p.ends == nil {
		return p.offs[i], n.block
	}
	return p.offs[i], p.ends[i] - startOf(p.ends, i)
}

// seek returns the block of a node of blocks that holds byte at of its packed
// stream, and where it begins.
func (n *node) seek(at int) (i, begin int) {
	if n.places.ends == nil {
		i = at / n.block
		return i, i * n.block
	}
	return find(n.places.ends, at)
}
