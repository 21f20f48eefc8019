package randprog

import "time"

// Keep returns p with only the operations whose IDs are given, and of those
// only what is certain to end without the others. IDs do not change.
func (p *Program) Keep(ids map[int]bool) *Program {
	q := *p
	q.Ops = nil
	l := newLedger(&q)
	for i := 0; i < len(p.Ops); {
		var unit []Op
		whole := true
		for n := p.Ops[i].Unit; i < len(p.Ops) && p.Ops[i].Unit == n; i++ {
			unit = append(unit, p.Ops[i])
			whole = whole && ids[p.Ops[i].ID]
		}
		if whole && l.admit(unit) {
			q.Ops = append(q.Ops, unit...)
		}
	}
	return &q
}

// IDs returns the operations that p has.
func (p *Program) IDs() (ids []int) {
	for i := range p.Ops {
		ids = append(ids, p.Ops[i].ID)
	}
	return ids
}

// Shrink takes operations out of p as long as fails says that the rest still
// fails, and returns what cannot be made smaller, or what it has after limit.
// It asks about ever smaller parts of the program, down to one operation.
func Shrink(p *Program, limit time.Duration, fails func(*Program) bool) *Program {
	end := time.Now().Add(limit)
	for size := len(p.Ops) / 2; size > 0; {
		smaller := false
		for start := 0; start < len(p.Ops) && time.Now().Before(end); {
			ids := map[int]bool{}
			for i, id := range p.IDs() {
				ids[id] = i < start || i >= start+size
			}
			if q := p.Keep(ids); len(q.Ops) < len(p.Ops) && fails(q) {
				p, smaller = q, true
			} else {
				start += size
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return p
}
