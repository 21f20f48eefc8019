package explore

import "github.com/exanet-mpi/exanet/check/world"

// Minimal makes a failure as small as it can: first the program, operation by
// operation, then the actions, of which it finds a shortest list.
func Minimal(f *Failure) *Failure {
	e := &explorer{cfg: f.Config}
	for again := true; again; {
		again = false
		for r := range f.Program {
			for i := len(f.Program[r]) - 1; i >= 0; i-- {
				p := without(f.Program, r, i)
				if p == nil {
					continue
				}
				if g := e.explore(Single(p)); g != nil {
					f, again = g, true
					i = min(i, len(f.Program[r]))
				}
			}
		}
	}
	if s := shortest(f.Config, f.Program); s != nil {
		return s
	}
	return f
}

// without returns a program without one operation, nil if others need it.
func without(p world.Program, rank, at int) world.Program {
	q := make(world.Program, len(p))
	copy(q, p)
	q[rank] = nil
	gone := -1
	reqs := 0
	for i, o := range p[rank] {
		posts := o.Kind == world.Send || o.Kind == world.Recv
		if posts {
			reqs++
		}
		if i == at {
			if posts {
				gone = reqs - 1
			}
			continue
		}
		if (o.Kind == world.Cancel || o.Kind == world.Wait) && gone >= 0 {
			if o.Req == gone {
				return nil
			}
			if o.Req > gone {
				o.Req--
			}
		}
		q[rank] = append(q[rank], o)
	}
	return q
}

// shortest searches breadth first for a violation in a program.
func shortest(cfg world.Config, program world.Program) *Failure {
	type node struct {
		parent int
		action world.Action
	}
	nodes := []node{{parent: -1}}
	seen := map[uint64]struct{}{}
	path := func(n int) (acts []world.Action) {
		for ; nodes[n].parent >= 0; n = nodes[n].parent {
			acts = append(acts, nodes[n].action)
		}
		for i, j := 0, len(acts)-1; i < j; i, j = i+1, j-1 {
			acts[i], acts[j] = acts[j], acts[i]
		}
		return acts
	}
	var settled *Failure // the first, in case it is found in no shorter way
	for n := 0; n < len(nodes); n++ {
		at := path(n)
		if settled != nil && len(at) >= len(settled.Actions) {
			return settled
		}
		w := replay(cfg, program, at)
		acts := w.Enabled(nil)
		if len(acts) == 0 {
			w.Settled()
			if w.Violation() == nil {
				w.Close()
			}
			if v := w.Violation(); v != nil && settled == nil {
				settled = &Failure{Config: cfg, Program: program, Actions: at, Settled: true, Violation: v}
			}
			continue
		}
		for i, a := range acts {
			if i > 0 {
				w = replay(cfg, program, at)
			}
			w.Do(a)
			if v := w.Violation(); v != nil {
				return &Failure{Config: cfg, Program: program, Actions: append(at, a), Violation: v}
			}
			h := w.Digest()
			if _, known := seen[h]; !known {
				seen[h] = struct{}{}
				nodes = append(nodes, node{n, a})
			}
		}
	}
	return settled
}
