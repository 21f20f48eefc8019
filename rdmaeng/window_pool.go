package rdmaeng

import "slices"

// pool hands out parts of a range of bytes, in units of lines, so that no two
// parts share one.
type pool struct {
	free []span // in order of their places; no two touch
}

type span struct{ at, n int }

// whole is n rounded up to lines.
func whole(n int) int { return (n + line - 1) &^ (line - 1) }

// take finds the first place for n bytes.
func (p *pool) take(n int) (at int, ok bool) {
	n = whole(n)
	for i := range p.free {
		s := &p.free[i]
		if s.n < n {
			continue
		}
		at = s.at
		if s.at, s.n = s.at+n, s.n-n; s.n == 0 {
			p.free = slices.Delete(p.free, i, i+1)
		}
		return at, true
	}
	return 0, false
}

// give takes back what take has handed out.
func (p *pool) give(at, n int) {
	n = whole(n)
	if n == 0 {
		return
	}
	i := 0
	for i < len(p.free) && p.free[i].at < at {
		i++
	}
	p.free = slices.Insert(p.free, i, span{at, n})
	if i+1 < len(p.free) && at+n == p.free[i+1].at {
		p.free[i].n += p.free[i+1].n
		p.free = slices.Delete(p.free, i+1, i+2)
	}
	if i > 0 && p.free[i-1].at+p.free[i-1].n == at {
		p.free[i-1].n += p.free[i].n
		p.free = slices.Delete(p.free, i, i+1)
	}
}

// left is how many bytes are free, and in one piece.
func (p *pool) left() (all, most int) {
	for _, s := range p.free {
		all += s.n
		most = max(most, s.n)
	}
	return all, most
}
