package interleave

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// kind is what an operation is.
type kind uint8

const (
	load kind = iota
	store
	update // reads and writes at once
	fence
	membarrier
	futexWait
	futexWake
	fail // something does not hold
	done
	died
)

// Order is how an access is ordered with others, as in C.
type Order uint8

const (
	Relaxed Order = iota
	Acquire
	Release
	AcqRel
	SeqCst
)

func (o Order) acquires() bool { return o == Acquire || o >= AcqRel }
func (o Order) releases() bool { return o >= Release }

// rmw is what an update makes of a word.
type rmw uint8

const (
	swap rmw = iota
	add
	and
	or
	cas
)

func (f rmw) apply(old, val, cmp uint64) uint64 {
	switch {
	case f == add:
		return old + val
	case f == and:
		return old & val
	case f == or:
		return old | val
	case f == cas && old != cmp:
		return old
	}
	return val
}

// op is an operation of a rank. Words are of 8 bytes; the mask says which bits of one.
// val and cmp are where they are in the word, but for fence, wake and the like.
type op struct {
	kind           kind
	order          Order
	fn             rmw
	plain          bool // not atomic
	word           int32
	shift          uint8
	mask, val, cmp uint64
	text           string
}

// result is what the word makes of an update.
func (o *op) result(old uint64) uint64 {
	part := o.fn.apply(old&o.mask>>o.shift, o.val>>o.shift, o.cmp>>o.shift)
	return old&^o.mask | part<<o.shift&o.mask
}

// reads reports whether an operation that has got a value has only read.
func (o *op) reads(got uint64) bool {
	return o.kind == load || o.kind == update && o.fn == cas && got != o.cmp>>o.shift
}

// node is a rank about to do an operation, after the values of its history.
type node struct {
	id       int32
	op       op
	function string
	site     uint64
	parent   *node // and the value that led here
	via      uint64
	next     map[uint64]*node
	result   any // of a rank that is done
}

// ranks are all ranks as far as they have been run.
type ranks struct {
	begin   func() []func() any // a world of its own for each replay
	mem     *Memory
	mistake func(Access) Mistake
	nodes   []*node
	marks   []map[string]*node
	number  []int32 // of each shared word among them
}

// replay is one run of a rank.
type replay struct {
	all     *ranks
	rank    int
	history []uint64
	over    bool // the operation behind the history has been reached

	next     op
	function string
	site     uint64
	mark     string // At, behind the history
	result   any

	alone   int    // operations on words of its own
	pending []span // plain stores whose values have not been looked at
	late    *op    // a store that a mistake delays
}

type span struct {
	p    unsafe.Pointer
	size uintptr
}

// current is the only replay that runs.
var current *replay

// What ends a replay. A deferred function of the code under test may run meanwhile.
var (
	errReached = errors.New("interleave: the end of the history")
	errRestart = errors.New("interleave: a word is shared that was not")
)

// Memory is what the ranks share.
type Memory struct {
	regions []region
	fixed   bool // they are known: further worlds have the same
	next    int
	count   int
	initial []uint64
	touched []uint64 // by which ranks
	written []bool
	loaded  []uint64 // by which ranks in a way that may be early
	shared  []bool
}

type region struct {
	name  string
	typ   reflect.Type
	base  unsafe.Pointer
	size  uintptr
	first int // number of the first word
}

func (g *region) at(off uintptr) unsafe.Pointer { return unsafe.Add(g.base, off) }

// Share says that the ranks share what p points to, by the name it has in reports. A
// world shares the same each time.
func (m *Memory) Share(name string, p any) {
	v := reflect.ValueOf(p)
	m.share(name, v.Type().Elem(), v.UnsafePointer(), v.Type().Elem().Size())
}

// ShareBytes is Share for bytes.
func (m *Memory) ShareBytes(name string, b []byte) {
	m.share(name, nil, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)))
}

func (m *Memory) share(name string, t reflect.Type, p unsafe.Pointer, size uintptr) {
	if uintptr(p)%8 != 0 {
		panic("interleave: " + name + " does not begin with a word")
	}
	if m.fixed {
		m.regions[m.next].base = p
		m.next++
		return
	}
	m.regions = append(m.regions, region{name, t, p, size, m.count})
	m.count += int(size+7) / 8
}

// begun notes what is shared as the first world has it.
func (m *Memory) begun() {
	m.fixed = true
	m.touched, m.loaded = make([]uint64, m.count), make([]uint64, m.count)
	m.written, m.shared = make([]bool, m.count), make([]bool, m.count)
	for i := range m.regions {
		g := &m.regions[i]
		for off := uintptr(0); off < g.size; off += 8 {
			m.initial = append(m.initial, get(g.at(off), min(8, g.size-off)))
		}
	}
}

// find returns the word that has an address, and where in it that is.
func (m *Memory) find(p unsafe.Pointer) (w int32, shift uint8, ok bool) {
	a := uintptr(p)
	for i := range m.regions {
		r := &m.regions[i]
		if off := a - uintptr(r.base); off < r.size {
			return int32(r.first + int(off/8)), uint8(off % 8 * 8), true
		}
	}
	return 0, 0, false
}

// use notes that a rank uses a word, and ends everything if more do than was known.
func (m *Memory) use(rank int, o *op) (shared bool) {
	w := o.word
	m.touched[w] |= 1 << rank
	if o.kind != load {
		m.written[w] = true
	}
	several := m.written[w] && m.touched[w]&(m.touched[w]-1) != 0
	if (several || o.kind == futexWait || o.kind == futexWake) && !m.shared[w] {
		m.shared[w] = true
		panic(errRestart)
	}
	if m.shared[w] && o.kind == load && m.loaded[w]&(1<<rank) == 0 {
		m.loaded[w] |= 1 << rank
		panic(errRestart)
	}
	return m.shared[w]
}

// access does an operation on a word of 4 or 8 bytes and returns what it has read.
func (r *replay) access(p unsafe.Pointer, size uintptr, o op) uint64 {
	r.settle()
	w, shift, ok := r.all.mem.find(p)
	if ok {
		o.word, o.shift, o.mask = w, shift, (1<<(8*size-1)<<1-1)<<shift
		if o.kind < fence {
			o.val, o.cmp = o.val<<shift, o.cmp<<shift
		}
		ok = r.all.mem.use(r.rank, &o)
	}
	if !ok { // of nobody else
		r.spins(&o)
		old := get(p, size)
		if o.kind == store || o.kind == update {
			put(p, size, o.fn.apply(old, o.val>>o.shift, o.cmp>>o.shift))
		}
		return old
	}
	return r.do(o)
}

// spins ends a replay that waits for a word that nobody else has used yet.
func (r *replay) spins(o *op) {
	const most = 10000
	if r.alone++; r.alone > most && o.mask != 0 && o.kind == load {
		r.all.mem.shared[o.word] = true
		panic(errRestart)
	}
}

// plain does plain loads or stores of memory of any size, word by word.
func (r *replay) plain(p unsafe.Pointer, size uintptr, k kind) {
	r.settle()
	if _, _, ok := r.all.mem.find(p); !ok {
		return
	}
	for end := uintptr(p) + size; uintptr(p) < end; {
		n := min(8-uintptr(p)%8, end-uintptr(p))
		o := op{kind: k, plain: true, mask: 1<<(8*n-1)<<1 - 1}
		o.word, o.shift, _ = r.all.mem.find(p)
		o.mask <<= o.shift
		if r.all.mem.use(r.rank, &o) {
			if k == store {
				o.val = get(p, n) << o.shift
				r.do(o)
			} else {
				put(p, n, r.do(o))
			}
		}
		p = unsafe.Add(p, n)
	}
}

func get(p unsafe.Pointer, size uintptr) (v uint64) {
	for i := range size {
		v |= uint64(*(*byte)(unsafe.Add(p, i))) << (8 * i)
	}
	return v
}

func put(p unsafe.Pointer, size uintptr, v uint64) {
	for i := range size {
		*(*byte)(unsafe.Add(p, i)) = byte(v >> (8 * i))
	}
}

// settle does the plain stores that have been announced before them, see C.
func (r *replay) settle() {
	for len(r.pending) > 0 {
		s := r.pending[0]
		r.pending = r.pending[1:]
		r.plain(s.p, s.size, store)
	}
}

// do is the operation behind the history, or one whose value is known.
func (r *replay) do(o op) uint64 {
	if r.all.mistake == nil || o.kind >= fail {
		return r.really(o)
	}
	if o.kind != store {
		r.overdue()
	}
	switch r.all.mistake(Access{r.rank, functions(), o.kind.String(), r.name(&o)}) {
	case Drop:
		return 0
	case Weaken:
		o.order = Relaxed
	case Split:
		o.kind, o.order = load, Relaxed
		old := r.really(o)
		if full := old << o.shift; o.fn != cas || full == o.cmp {
			o.kind, o.val = store, o.result(full)&o.mask
			r.really(o)
		}
		return old
	case Delay:
		r.late = &o
		return 0
	}
	return r.really(o)
}

// overdue does a store that a mistake has delayed.
func (r *replay) overdue() {
	if late := r.late; late != nil {
		r.late = nil
		r.really(*late)
	}
}

func (r *replay) really(o op) uint64 {
	if len(r.history) > 0 {
		v := r.history[0]
		r.history = r.history[1:]
		return v
	}
	if o.kind != fence && o.kind != membarrier && o.kind < fail {
		o.word = r.all.number[o.word]
	}
	r.over, r.next = true, o
	r.function, r.site = functions()[0], site()
	panic(errReached)
}

// at marks the moment by a key and all words that only this rank uses.
func (r *replay) at(key string) {
	if len(r.history) > 0 {
		return
	}
	m := r.all.mem
	own := []byte(key)
	for i := range m.regions {
		g := &m.regions[i]
		for off := uintptr(0); off < g.size; off += 8 {
			if w := g.first + int(off/8); m.touched[w] == 1<<r.rank && m.written[w] && !m.shared[w] {
				own = fmt.Appendf(own, " %d=%x", w, get(g.at(off), min(8, g.size-off)))
			}
		}
	}
	r.mark = string(own)
}

// run runs a rank with a history. restart: the memory has turned out to be shared otherwise.
func (all *ranks) run(rank int, history []uint64) (r *replay, restart bool) {
	r = &replay{all: all, rank: rank, history: history}
	all.mem.next = 0
	bodies := all.begin()
	current = r
	defer func() { current = nil }()
	defer func() {
		switch e := recover(); e {
		case nil, errReached:
		case errRestart:
			restart = true
		default:
			if r.over { // of a deferred function that got no value
				return
			}
			r.next = op{kind: fail, text: fmt.Sprint("panic: ", e)}
		}
	}()
	r.result = bodies[rank]()
	r.settle()
	r.overdue()
	r.next, r.over = op{kind: done}, true
	return r, false
}

// root returns the rank before its first operation.
func (all *ranks) root(rank int) (*node, bool) {
	r, restart := all.run(rank, nil)
	if restart {
		return nil, false
	}
	return all.add(nil, 0, r), true
}

// after returns where a rank is when its operation has got a value.
func (all *ranks) after(rank int, n *node, v uint64) (*node, bool) {
	if next := n.next[v]; next != nil {
		return next, true
	}
	var history []uint64
	for at := n; at.parent != nil; at = at.parent {
		history = append(history, at.via)
	}
	for i, j := 0, len(history)-1; i < j; i, j = i+1, j-1 {
		history[i], history[j] = history[j], history[i]
	}
	r, restart := all.run(rank, append(history, v))
	if restart {
		return nil, false
	}
	if r.next.kind == done { // whatever it has read
		r.mark = fmt.Sprintf("done %#v", r.result)
	}
	var next *node
	if r.mark != "" {
		next = all.marks[rank][r.mark]
	} else {
		next = turn(n, v, r)
	}
	if next == nil {
		next = all.add(n, v, r)
		if r.mark != "" {
			all.marks[rank][r.mark] = next
		}
	}
	if n.next == nil {
		n.next = make(map[uint64]*node)
	}
	n.next[v] = next
	return next, true
}

func (all *ranks) add(parent *node, via uint64, r *replay) *node {
	n := &node{
		id: int32(len(all.nodes)), op: r.next, function: r.function, site: r.site,
		parent: parent, via: via, result: r.result,
	}
	all.nodes = append(all.nodes, n)
	return n
}

// turn returns where a rank has been that spins: it is about to do what it has done
// twice, and has read the same both times, and nothing else. Else nil.
func turn(n *node, v uint64, r *replay) *node {
	const longest = 16
	type step struct {
		n   *node
		got uint64
	}
	steps := []step{{n, v}} // backwards
	for at := n; at.parent != nil && len(steps) < 2*longest; at = at.parent {
		steps = append(steps, step{at.parent, at.via})
	}
	same := func(a, b step) bool { return a.got == b.got && a.n.op == b.n.op && a.n.site == b.n.site }
period:
	for p := 1; 2*p <= len(steps); p++ {
		first := steps[p-1].n
		if first.op != r.next || first.site != r.site {
			continue
		}
		for i := range p {
			if !same(steps[i], steps[i+p]) || !steps[i].n.op.reads(steps[i].got) {
				continue period
			}
		}
		return first
	}
	return nil
}

func (r *replay) name(o *op) string {
	if o.kind == fence || o.kind == membarrier {
		return ""
	}
	return r.all.mem.name(o.word, o.shift)
}
