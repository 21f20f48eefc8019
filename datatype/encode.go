package datatype

import "math/bits"

// The layout of a type as words, for a process that writes into memory of
// another. A node is its operation and the words that it needs; numbers are two's
// complement.
//
//	type      lower bound, extent, node
//	block     opBlock, displacement, bytes
//	strided   opStrided, displacement, bytes, count, stride
//	blocks    opBlocks, count, then displacement and bytes of each
//	loop      opLoop, displacement, count, stride, node
//	list      opList, displacement, count, nodes

// Encode appends the layout of t to out, unless that takes more than limit words.
func (t *Type) Encode(out []uint64, limit int) (words []uint64, ok bool) {
	limit += len(out)
	out = append(out, uint64(t.lb), uint64(t.ub-t.lb))
	out = t.root.encode(out, limit)
	return out, len(out) <= limit
}

func (n *node) encode(out []uint64, limit int) []uint64 {
	if len(out) > limit {
		return out // too long already
	}
	out = append(out, uint64(n.op))
	switch n.op {
	case opBlock:
		out = append(out, uint64(n.off), uint64(n.block))
	case opStrided:
		out = append(out, uint64(n.off), uint64(n.block), uint64(n.count), uint64(n.stride))
	case opBlocks:
		out = append(out, uint64(n.count))
		if len(out)+2*n.count > limit {
			return append(out, make([]uint64, limit+1-min(limit, len(out)))...)
		}
		for i := range n.count {
			off, size := n.place(i)
			out = append(out, uint64(n.off+off), uint64(size))
		}
	case opLoop:
		out = append(out, uint64(n.off), uint64(n.count), uint64(n.stride))
		out = n.body.encode(out, limit)
	case opList:
		out = append(out, uint64(n.off), uint64(len(n.kids)))
		for i := range n.kids {
			out = n.kids[i].encode(out, limit)
		}
	}
	return out
}

// Decode makes a type of an encoded layout. It has no signature. What is not the
// work of Encode is refused.
func Decode(words []uint64) (*Type, error) {
	d := decoder{words: words}
	t := &Type{env: Envelope{Combiner: CombinerNamed}, name: "layout"}
	t.lb = d.number()
	t.ub = t.lb + d.number()
	t.root = d.node(0)
	t.size = t.root.size
	if d.bad || len(d.words) > 0 {
		return nil, bad("Decode", ErrArg, "damaged layout of %d words", len(words))
	}
	return t, nil
}

type decoder struct {
	words []uint64
	bad   bool
}

// Limits of decoded layouts, far above those of real ones.
const (
	maxDepth = 1 << 10
	maxSpan  = 1 << 60
)

// number reads a displacement or stride.
func (d *decoder) number() int {
	if len(d.words) == 0 {
		d.bad = true
		return 0
	}
	x := int(d.words[0])
	d.words = d.words[1:]
	return x
}

// length reads a positive number.
func (d *decoder) length() int {
	x := d.number()
	if x < 1 || x > maxSpan {
		d.bad = true
		return 1
	}
	return x
}

func (d *decoder) times(n *node, count, stride int) node {
	hi, size := bits.Mul64(uint64(count), uint64(n.size))
	high, span := bits.Mul64(uint64(count), abs(stride))
	if hi != 0 || size > maxSpan || high != 0 || span > maxSpan {
		d.bad = true
		return node{}
	}
	return repeat(n, count, stride)
}

func (d *decoder) node(depth int) (n node) {
	kind := op(d.number())
	if depth > maxDepth {
		d.bad = true
	}
	if d.bad {
		return node{}
	}
	switch kind {
	case opEmpty:
	case opBlock:
		off := d.number()
		n = block(off, d.length())
	case opStrided:
		off := d.number()
		one := block(off, d.length())
		count := d.length()
		n = d.times(&one, count, d.number())
	case opBlocks:
		var b blocks
		count := d.length()
		if count > len(d.words)/2 {
			d.bad = true
			return node{}
		}
		for range count {
			off := d.number()
			b.add(off, d.length())
			d.bad = d.bad || b.end() > maxSpan
		}
		n = b.node()
	case opLoop:
		off, count, stride := d.number(), d.length(), d.number()
		body := d.node(depth + 1)
		n = d.times(&body, count, stride)
		n.off += off
	case opList:
		off, count := d.number(), d.length()
		var kids []node
		for i := 0; i < count && !d.bad; i++ {
			kids = append(kids, d.node(depth+1))
		}
		n = concat(kids)
		n.off += off
	default:
		d.bad = true
	}
	return n
}
