package datatype

// ElementsIn returns how many basic elements the first n bytes of the packed
// stream of elements of t hold (MPI_Get_elements), or -1 if they end within one.
func (t *Type) ElementsIn(n int) int {
	if t.size == 0 {
		if n == 0 {
			return 0
		}
		return -1
	}
	whole, rest := n/t.size, n%t.size
	count := whole * t.elements
	if rest == 0 {
		return count
	}
	for _, p := range t.parts {
		size := p.count * p.t.size
		if rest < size {
			more := p.t.ElementsIn(rest)
			if more < 0 {
				return -1
			}
			return count + more
		}
		rest -= size
		count += p.count * p.t.elements
		if rest == 0 {
			return count
		}
	}
	return -1
}

// CountIn returns how many elements of t the first n bytes of the packed stream
// are (MPI_Get_count), or -1 if they end within one.
func (t *Type) CountIn(n int) int {
	switch {
	case t.size == 0 && n == 0:
		return 0
	case t.size == 0 || n%t.size != 0:
		return -1
	}
	return n / t.size
}

// External32 turns the packed stream of count elements between the byte order of
// this machine and that of the portable representation external32, which is big
// endian and otherwise the same (MPI_Pack_external, MPI_Unpack_external). It
// reports false, having changed nothing, if the type has long doubles.
func (t *Type) External32(packed []byte, count int) bool {
	if !t.portable() {
		return false
	}
	t.swap(packed, count)
	return true
}

func (t *Type) portable() bool {
	for _, p := range t.parts {
		if p.count > 0 && !p.t.portable() {
			return false
		}
	}
	return t.parts != nil || basics[t.kind].swap > 0
}

func (t *Type) swap(packed []byte, count int) []byte {
	if t.parts == nil {
		n := count * t.size
		reverse(packed[:n], basics[t.kind].swap)
		return packed[n:]
	}
	if len(t.parts) == 1 {
		return t.parts[0].t.swap(packed, count*t.parts[0].count)
	}
	for range count {
		for _, p := range t.parts {
			packed = p.t.swap(packed, p.count)
		}
	}
	return packed
}

// reverse turns every group of size bytes around.
func reverse(b []byte, size int) {
	if size < 2 {
		return
	}
	for ; len(b) > 0; b = b[size:] {
		for i, j := 0, size-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
}

// Runs calls f for each run of basic elements of one kind in an element of t, in their order.
func (t *Type) Runs(f func(k Kind, n int)) {
	if _, _, pair := t.kind.Pair(); t.kind != 0 && !pair {
		f(t.kind, t.elements)
		return
	}
	for _, p := range t.parts {
		if p.t.parts == nil {
			f(p.t.kind, p.count)
			continue
		}
		for range p.count {
			p.t.Runs(f)
		}
	}
}
