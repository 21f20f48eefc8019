package interleave

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
)

// Program is what ranks do with a world that they share.
type Program[W any] struct {
	// World makes one, and says what of it is shared.
	World func(*Memory) W
	// Ranks are what each does with it, and what is to be known of that.
	Ranks []func(W) any
	// MayDie are ranks that may end anywhere; their result is Died.
	MayDie []int
	// End says what is wrong with results, if something is.
	End func(results []any) error
	// Mistake is made by whoever wants to see that it is found.
	Mistake func(Access) Mistake
	// Late is how many stores of a rank are not visible yet, at most, and before how many
	// stores of others a load may have been performed; 0: 12.
	Late int
	// Most are the states that the search may take; 0: a million.
	Most int
}

// Died is the result of a rank that has.
type Died struct{}

// Access is an operation of the code under test.
type Access struct {
	Rank      int
	Functions []string // that does it, that which calls it, and so on
	Kind      string   // load, store, update, fence, membarrier, futex wait, futex wake
	Word      string
}

// In makes a mistake with accesses of a function, or of what it calls, of a kind, and to a
// word; "" is any.
func In(function, kind, word string, m Mistake) func(Access) Mistake {
	return func(a Access) Mistake {
		if function != "" && !slices.Contains(a.Functions, function) || kind != "" && a.Kind != kind {
			return No
		}
		if word != "" && a.Word != word {
			return No
		}
		return m
	}
}

// Mistake is what is wrong with an access.
type Mistake uint8

const (
	No     Mistake = iota
	Drop           // it is not there: a fence, a call; a store without effect
	Weaken         // it orders nothing
	Split          // an update is a load and a store
	Delay          // a store comes behind those that follow it
)

// Result is what a search has found.
type Result struct {
	Model     Model
	States    int
	Ends      int            // different ones
	Outcomes  map[string]int // their results
	Violation string         // as a report, "" if there is none
	Complete  bool
}

type search struct {
	model   Model
	ranks   *ranks
	mayDie  []bool
	dead    []*node
	words   []int32 // numbers of those that are shared
	restart bool
	most    int
	room    int // for late stores
	end     func([]any) error

	seed    [2]maphash.Seed
	visited map[[2]uint64]int32
	parents []parent
	edges   [][2]int32
	ends    []int32
	result  *Result
}

// parent is how a state has been reached first.
type parent struct{ from, step int32 }

// Explore tries all interleavings.
func Explore[W any](model Model, p Program[W]) *Result {
	mem := new(Memory)
	begin := func() []func() any {
		w := p.World(mem)
		bodies := make([]func() any, len(p.Ranks))
		for i, rank := range p.Ranks {
			bodies[i] = func() any { return rank(w) }
		}
		return bodies
	}
	begin()
	mem.begun()
	for {
		m := &search{model: model, end: p.End, most: p.Most, mayDie: make([]bool, len(p.Ranks))}
		if m.most == 0 {
			m.most = 1e6
		}
		if m.room = p.Late; m.room == 0 {
			m.room = 12
		}
		for _, r := range p.MayDie {
			m.mayDie[r] = true
		}
		m.ranks = &ranks{begin: begin, mem: mem, mistake: p.Mistake, marks: make([]map[string]*node, len(p.Ranks))}
		for i := range m.ranks.marks {
			m.ranks.marks[i] = make(map[string]*node)
		}
		if m.run(len(p.Ranks)) {
			return m.result
		}
	}
}

// run searches, and reports whether that has come to an end with the words that are
// known to be shared.
func (m *search) run(n int) bool {
	mem := m.ranks.mem
	first := &state{
		buffer: make([][]entry, n), past: make([][]old, n), over: make([][2]int, n), fresh: make([]int, n),
		asleep: make([]bool, n), fences: make([]uint32, n),
	}
	number := make([]int32, mem.count)
	for w, shared := range mem.shared {
		if shared {
			number[w] = int32(len(m.words))
			m.words = append(m.words, int32(w))
			first.mem = append(first.mem, mem.initial[w])
		}
	}
	m.ranks.number = number
	for r := range n {
		root, ok := m.ranks.root(r)
		if !ok {
			return false
		}
		first.at = append(first.at, root)
		m.dead = append(m.dead, m.ranks.add(nil, 0, &replay{next: op{kind: died}, result: Died{}}))
	}
	m.seed = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	m.visited = make(map[[2]uint64]int32)
	m.result = &Result{Model: m.model, Outcomes: make(map[string]int), Complete: true}
	m.visit(first, parent{-1, 0})
	queue := []*state{first}
	for id := int32(0); len(queue) > 0; id++ {
		s := queue[0]
		queue[0], queue = nil, queue[1:]
		if bad := m.judge(s); bad != "" {
			m.result.Violation = m.report(first, id, bad)
			break
		}
		if s.final() {
			m.ends = append(m.ends, id)
			continue
		}
		i := int32(0)
		m.steps(s, func(st step) bool {
			to, isNew := m.visit(st.to, parent{id, i})
			if to != id {
				m.edges = append(m.edges, [2]int32{id, to})
			}
			if isNew {
				queue = append(queue, st.to)
			}
			i++
			return true
		})
		if m.restart {
			return false
		}
		if len(m.parents) > m.most {
			m.result.Complete = false
			break
		}
	}
	m.result.States, m.result.Ends = len(m.parents), len(m.ends)
	if m.result.Violation == "" && m.result.Complete {
		if id, stuck := m.stuck(); stuck {
			m.result.Violation = m.report(first, id, "nobody comes to an end from here, whatever happens")
		}
	}
	return true
}

// visit gives a state a number, if it has none.
func (m *search) visit(s *state, p parent) (id int32, isNew bool) {
	var buf [512]byte
	code := s.encode(buf[:0])
	key := [2]uint64{maphash.Bytes(m.seed[0], code), maphash.Bytes(m.seed[1], code)}
	if id, ok := m.visited[key]; ok {
		return id, false
	}
	id = int32(len(m.parents))
	m.visited[key] = id
	m.parents = append(m.parents, p)
	return id, true
}

// judge says what is wrong with a state, if something is.
func (m *search) judge(s *state) string {
	for r, n := range s.at {
		if n.op.kind == fail {
			return fmt.Sprintf("rank %d: %s", r, n.op.text)
		}
	}
	if !s.final() {
		return ""
	}
	results := make([]any, len(s.at))
	for r, n := range s.at {
		results[r] = n.result
	}
	m.result.Outcomes[strings.TrimSuffix(fmt.Sprintln(results...), "\n")]++
	if m.end != nil {
		if err := m.end(results); err != nil {
			return err.Error()
		}
	}
	return ""
}

// stuck returns the first state from which no end can be reached, one in which
// nothing can happen if there is such.
func (m *search) stuck() (id int32, stuck bool) {
	start := make([]int32, len(m.parents)+1)
	for _, e := range m.edges {
		start[e[1]+1]++
	}
	for i := range m.parents {
		start[i+1] += start[i]
	}
	before := make([]int32, len(m.edges))
	filled := append([]int32(nil), start...)
	for _, e := range m.edges {
		before[filled[e[1]]] = e[0]
		filled[e[1]]++
	}
	good := make([]bool, len(m.parents))
	for work := append([]int32(nil), m.ends...); len(work) > 0; {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if good[at] {
			continue
		}
		good[at] = true
		work = append(work, before[start[at]:start[at+1]]...)
	}
	goesOn := make([]bool, len(m.parents))
	for _, e := range m.edges {
		goesOn[e[0]] = true
	}
	for i, g := range good {
		switch {
		case !g && !goesOn[i]:
			return int32(i), true
		case !g && !stuck:
			id, stuck = int32(i), true
		}
	}
	return id, stuck
}

// Holds fails a test unless a program keeps what it promises under a model, and logs
// how much that took to find out.
func Holds[W any](t *testing.T, model Model, p Program[W]) *Result {
	t.Helper()
	r := Explore(model, p)
	switch {
	case r.Violation != "":
		t.Fatalf("%v: %s", model, r.Violation)
	case !r.Complete:
		t.Fatalf("%v: not all of it has been tried: more than %d states", model, r.States)
	}
	t.Logf("%v: %d states, %d ends", model, r.States, r.Ends)
	return r
}

// Finds fails a test unless a mistake in a program is found, and logs how. nil: the
// program itself is the mistake.
func Finds[W any](t *testing.T, model Model, p Program[W], mistake func(Access) Mistake) *Result {
	t.Helper()
	made := mistake == nil
	if mistake != nil {
		p.Mistake = func(a Access) Mistake {
			m := mistake(a)
			made = made || m != No
			return m
		}
	}
	r := Explore(model, p)
	if !made {
		t.Fatalf("%v: nobody has come to where the mistake would be", model)
	}
	if r.Violation == "" {
		t.Fatalf("%v: the mistake has not been found in %d states", model, r.States)
	}
	t.Logf("%v, %d states: %s", model, r.States, r.Violation)
	return r
}
