package datatype

// Segment is a piece of contiguous memory, relative to an origin.
type Segment struct{ Off, Len int }

// segments appends to out where the bytes [from, to) of the packed stream lie, as
// far as its capacity goes, and returns how far it came. Neighbours are joined.
func (n *node) segments(out []Segment, org, from, to int) ([]Segment, int) {
	org += n.off
	switch n.op {
	case opBlock:
		return appendSegment(out, org+from, from, to)
	case opStrided:
		for i := from / n.block; from < to; i++ {
			r := from - i*n.block
			end := min(to, (i+1)*n.block)
			was := from
			if out, from = appendSegment(out, org+i*n.stride+r, from, end); from == was {
				break
			}
		}
	case opBlocks:
		for i, begin := n.seek(from); from < to; i++ {
			off, size := n.place(i)
			was := from
			if out, from = appendSegment(out, org+off+from-begin, from, min(to, begin+size)); from == was {
				break
			}
			begin += size
		}
	case opLoop:
		for i := from / n.body.size; from < to; i++ {
			begin := i * n.body.size
			end := min(to-begin, n.body.size)
			var got int
			out, got = n.body.segments(out, org+i*n.stride, from-begin, end)
			from = begin + got
			if got < end {
				break
			}
		}
	case opList:
		for i, begin := find(n.ends, from); from < to; i++ {
			k := &n.kids[i]
			end := min(to-begin, k.size)
			var got int
			out, got = k.segments(out, org, from-begin, end)
			from = begin + got
			if got < end {
				break
			}
			begin += k.size
		}
	}
	return out, from
}

// appendSegment adds the segment of the bytes [from, to), which lie at off, and
// returns from, unchanged, if there is no room.
func appendSegment(out []Segment, off, from, to int) ([]Segment, int) {
	if k := len(out) - 1; k >= 0 && out[k].Off+out[k].Len == off {
		out[k].Len += to - from
		return out, to
	}
	if len(out) == cap(out) {
		return out, from
	}
	return append(out, Segment{off, to - from}), to
}
