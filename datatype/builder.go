package datatype

import "math/bits"

// builder collects the parts of a type. The first error stands.
type builder struct {
	op     string
	env    Envelope
	err    error
	bounds bounds
	round  bool // the extent to the alignment
	nodes  []node
	parts  []part
	align  int
}

func start(op string, env Envelope) *builder { return &builder{op: op, env: env} }

func (b *builder) fail(err error, why string, args ...any) {
	if b.err == nil {
		b.err = bad(b.op, err, why, args...)
	}
}

func (b *builder) count(n int, what string) {
	if n < 0 {
		b.fail(ErrCount, "the %s is %d", what, n)
	}
}

func (b *builder) valid(t *Type) bool {
	if t == nil || t.env.Combiner == 0 {
		b.fail(ErrType, "no type")
	}
	return b.err == nil
}

func (b *builder) extent(t *Type) int {
	if !b.valid(t) {
		return 0
	}
	return t.ub - t.lb
}

// times multiplies two lengths in bytes or elements; sums of what it returns do
// not overflow.
func (b *builder) times(x, y int) int {
	hi, lo := bits.Mul64(abs(x), abs(y))
	if hi != 0 || lo >= 1<<60 {
		b.fail(ErrCount, "the type would span more than 2^60 bytes")
		return 0
	}
	return x * y
}

func abs(x int) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// displace checks a displacement in bytes.
func (b *builder) displace(x int) int { return b.times(x, 1) }

// loop adds count blocks of blocklen elements of t, stride bytes apart.
func (b *builder) loop(t *Type, at, count, stride, blocklen int) {
	if !b.valid(t) {
		return
	}
	ext := t.ub - t.lb
	b.align = max(b.align, t.align)
	b.parts = append(b.parts, part{b.times(count, blocklen), t})
	b.times(b.times(count, blocklen), t.size)
	if count == 0 || blocklen == 0 {
		return
	}
	at = b.displace(at)
	lastBlock, lastElement := b.times(count-1, b.displace(stride)), b.times(blocklen-1, ext)
	if b.err != nil {
		return
	}
	b.bounds.place(t, at, at+lastBlock)
	b.bounds.place(t, at+lastElement, at+lastBlock+lastElement)
	row := repeat(&t.root, blocklen, ext)
	n := repeat(&row, count, stride)
	n.off += at
	b.nodes = append(b.nodes, n)
}

// list adds blocks of t at displacements in units of unit bytes. Their lengths
// are blocklens or, if that is nil, all blocklen.
func (b *builder) list(t *Type, blocklens []int, blocklen int, displs []int, unit int) {
	if blocklens != nil && len(blocklens) != len(displs) {
		b.fail(ErrArg, "%d block lengths and %d displacements", len(blocklens), len(displs))
	}
	if !b.valid(t) {
		return
	}
	ext := t.ub - t.lb
	b.align = max(b.align, t.align)
	elements := 0
	var dense blocks
	for i, d := range displs {
		n := blocklen
		if blocklens != nil {
			n = blocklens[i]
			b.count(n, "length of a block")
		}
		at := b.times(d, unit)
		last := b.times(n-1, ext)
		elements = b.times(elements+b.times(n, 1), 1)
		if b.err != nil {
			return
		}
		if n == 0 {
			continue
		}
		b.bounds.place(t, at, at+last)
		if t.Dense() {
			dense.add(at, n*t.size)
			continue
		}
		x := repeat(&t.root, n, ext)
		x.off += at
		b.nodes = append(b.nodes, x)
	}
	b.parts = append(b.parts, part{elements, t})
	if len(dense.offs) > 0 {
		b.nodes = append(b.nodes, dense.node())
	}
}

// give sets the bounds.
func (b *builder) give(lb, extent int) {
	b.bounds.lb, b.bounds.ub, b.bounds.marked = b.displace(lb), b.displace(lb)+b.displace(extent), true
}

func (b *builder) finish() (*Type, error) {
	t := &Type{env: b.env, align: b.align, parts: b.parts}
	for _, p := range b.parts {
		t.size += b.times(p.count, p.t.size)
		t.elements += b.times(p.count, p.t.elements)
		b.times(t.size, 1)
		if p.count == 0 || p.t.elements == 0 {
			continue
		}
		if t.elements == p.count*p.t.elements { // the first
			t.kind, t.basic = p.t.kind, p.t.basic
		} else if t.kind != p.t.kind {
			t.kind, t.basic = 0, nil
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	d := &b.bounds
	t.lb, t.ub, t.trueLB, t.trueUB, t.marked = d.lb, d.ub, d.trueLB, d.trueUB, d.marked
	if b.round && !t.marked && t.align > 0 {
		t.ub = t.lb + roundUp(t.ub-t.lb, t.align)
	}
	t.root = concat(b.nodes)
	return t, nil
}
