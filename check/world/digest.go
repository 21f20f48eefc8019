package world

import (
	"reflect"
	"sort"
	"strings"
	"sync"

	"github.com/exanet-mpi/exanet/variants"
)

// Digest identifies a state by what is in it: the memory of the protocols, read
// by reflection, the requests, the writes and the messages in flight. It
// recognises more states as equal than Fingerprint, which looks at how they
// came about.
//
// Left out are statistics and the fields named in volatile. Everything that the
// checks look at later is in it.
func (w *World) Digest() uint64 {
	w.digestRanks()
	return w.digestWith(change{rank: -1, popped: -1})
}

// digestRanks computes the digests that are not known.
func (w *World) digestRanks() {
	for i, r := range w.ranks {
		if w.digests[i] == 0 {
			w.digests[i] = w.remembered(r)
		}
	}
}

// DigestAnew is Digest without anything remembered.
func (w *World) DigestAnew() uint64 {
	fresh := *w
	fresh.Memory, fresh.digests = nil, make([]uint64, len(w.digests))
	return fresh.Digest()
}

// remembered is the digest of a rank. What its memory holds follows from what
// it has been given, contents included, and what has been written into it.
func (w *World) remembered(r *rank) uint64 {
	if w.Memory == nil {
		return r.digest()
	}
	key := mix(mix(r.given+uint64(r.id)<<56) ^ r.touched)
	if d, ok := w.Memory.digests[key]; ok {
		return d
	}
	d := r.digest()
	w.Memory.digests[key] = d
	return d
}

// The contents of what a rank is given.

func (m *message) hash() uint64 {
	return mix(mix(mix(m.header[0]^checksum(m.payload[:m.n]))^m.header[1]) ^ m.header[2])
}

// state is the contents of a message, and what must land before it is delivered.
func (m *message) state() uint64 { return m.sum + m.waits() }

func (v *write) hash() uint64 {
	n := v.t.Notify
	return mix(mix(v.t.Dst.Notify^uint64(uint32(n[0]))<<32^uint64(uint32(n[1]))) ^ uint64(uint32(n[2]))<<32 ^
		uint64(uint32(n[3])))
}

func (o Op) hash() uint64 {
	return mix(mix(uint64(o.Kind)<<2|bit(o.Sync)<<1|bit(o.Block)|uint64(uint32(o.Tag))<<32) ^ uint64(uint32(o.Peer)) ^
		uint64(o.Size)<<40 ^ uint64(o.Req)<<32 ^ uint64(o.Comm)<<60)
}

// Digests returns the parts of Digest that belong to the ranks, for
// SetDigests.
func (w *World) Digests(into []uint64) []uint64 { return append(into[:0], w.digests...) }

// SetDigests tells a world that was made again what Digests returned in the
// same state.
func (w *World) SetDigests(d []uint64) { copy(w.digests, d) }

// volatile are fields of protocols that hold nothing that matters: what was
// looked up last, memory kept for reuse, and what is only counted. To leave one out wrongly would
// hide states; the samples that are explored by Fingerprint do not use this
// list.
var volatile = map[string]map[string]bool{
	"variants.Outbox": {"body": true},
	"variants.Core":   {"spare": true, "spares": true},
	"variants.Comms":  {"last": true},
	"variants.Request": {"Ctx": true, "Buf": true, "View": true, "Transfer": true, "Status": true, "Err": true,
		"inQueue": true},
	"channels.Comm": {"lastIn": true, "lastOut": true},
	"auto.sends":    {"first": true, "last": true, "crossed": true},
	"auto.receives": {"stale": true, "silent": true},
}

func (r *rank) digest() uint64 {
	d := digester{r: r, objects: make(map[uintptr]uint64), requests: make(map[uintptr]*Request, len(r.reqs))}
	for _, q := range r.reqs {
		d.requests[reflect.ValueOf(&q.r).Pointer()] = q
	}
	d.add(uint64(r.chosen)<<32 | uint64(r.pc))
	d.add(bit(r.tried == r.moment) | bit(r.doubted == r.moment)<<1 | bit(r.dead)<<2 | bit(r.told)<<3 |
		uint64(r.dev.full)<<4)
	d.value(reflect.ValueOf(r.proto))
	if r.fast != nil {
		d.add(r.fast.digest())
	}
	for _, q := range r.reqs {
		d.request(q)
	}
	for _, p := range r.probes {
		d.add(uint64(p.after)<<32 | uint64(uint32(p.op.Tag)))
		d.status(p.st)
	}
	for i := range r.dev.slots {
		s := &r.dev.slots[i]
		d.add(uint64(s.was)<<40 | uint64(s.gen)<<3 | bit(s.full)<<2 | bit(s.watch != nil)<<1 | bit(s.open))
	}
	for _, l := range r.dev.loans {
		d.add(uint64(l.req.send)<<2 | bit(l.copied)<<1 | bit(l.over))
	}
	for _, v := range r.writes {
		if v.over() {
			continue
		}
		d.add(uint64(v.to)<<48 | uint64(v.pieces)<<3 | bit(v.all)<<2 | bit(v.noticed)<<1 | bit(v.finished))
		d.add(v.t.Dst.Notify)
		d.add(uint64(uint32(v.t.Notify[0]))<<32 | uint64(uint32(v.t.Notify[1])))
		d.add(uint64(uint32(v.t.Notify[2]))<<32 | uint64(len(v.t.Src)))
		if v.req != nil {
			d.add(uint64(v.req.send))
		}
	}
	return d.h | 1
}

// digester walks through the memory of a protocol. Objects are named by the
// order in which it meets them, requests by their number.
type digester struct {
	r        *rank
	h        uint64
	objects  map[uintptr]uint64
	requests map[uintptr]*Request
	met      uint64 // requests that the protocol refers to
}

func (d *digester) add(x uint64) { d.h = mix(d.h ^ x) }

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (d *digester) status(s variants.Status) {
	d.add(uint64(uint32(s.Source))<<32 | uint64(uint32(s.Tag)))
	d.add(uint64(s.Size)<<1 | bit(s.Cancelled))
}

func (d *digester) request(q *Request) {
	r := &q.r
	d.add(uint64(q.ID)<<4 | bit(r.Done)<<3 | bit(r.Err != nil)<<2 | bit(r.Cancelling)<<1)
	d.add(q.doneBefore<<1 | bit(q.CancelledAt != 0))
	if q.held != nil {
		d.add(uint64(q.held.Kind)<<56 | uint64(q.held.Size)<<32 | uint64(q.held.Ticket))
	}
	d.add(uint64(q.gen))
	d.status(r.Status)
	if q.Op.Kind == Recv {
		d.add(checksum(q.memory))
	}
	if q.got != nil {
		d.add(uint64(q.got.Rank)<<8 | uint64(q.got.send))
	}
	if r.Done && d.met&(1<<(q.ID&63)) == 0 {
		return
	}
	d.fields(reflect.ValueOf(r).Elem())
	if n := r.Next(); n != nil {
		if next := d.requests[reflect.ValueOf(n).Pointer()]; next != nil {
			d.add(uint64(next.ID))
		}
	}
}

var (
	countersType = reflect.TypeFor[variants.Counters]()
	contextType  = reflect.TypeFor[*variants.Context]()
	leaseType    = reflect.TypeFor[variants.Lease]()
)

// outside are what a protocol refers to and is no part of it.
var outside = map[reflect.Type]bool{reflect.TypeFor[*device](): true, reflect.TypeFor[lender](): true,
	reflect.TypeFor[*fastPath](): true}

func (d *digester) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		d.add(bit(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.add(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		d.add(v.Uint())
	case reflect.String:
		d.add(checksum([]byte(v.String())))
	case reflect.Pointer:
		d.pointer(v)
	case reflect.Interface:
		d.add(bit(v.IsNil()))
		if t := v.Elem(); !v.IsNil() && !outside[t.Type()] {
			d.value(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == leaseType && v.FieldByName("Granted").Bool() {
			d.add(1) // the fast path has the number
			return
		}
		d.fields(v)
	case reflect.Slice, reflect.Array:
		d.add(uint64(v.Len()))
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Map:
		d.entries(v)
	case reflect.Func:
		d.add(bit(v.IsNil()))
	default:
		panic("world: a protocol with a " + v.Kind().String())
	}
}

func (d *digester) pointer(v reflect.Value) {
	if v.IsNil() {
		d.add(0)
		return
	}
	if t := v.Type(); t == contextType || t.Elem() == countersType {
		return
	}
	if q := d.requests[v.Pointer()]; q != nil {
		d.met |= 1 << (q.ID & 63)
		d.add(uint64(q.ID) + 1)
		return
	}
	if n := d.objects[v.Pointer()]; n != 0 {
		d.add(n)
		return
	}
	d.objects[v.Pointer()] = uint64(len(d.objects) + 1)
	d.value(v.Elem())
}

func (d *digester) fields(v reflect.Value) {
	for _, i := range fieldsOf(v.Type()) {
		d.value(v.Field(i))
	}
}

// fieldLists remembers fieldsOf by type.
var fieldLists sync.Map

// fieldsOf returns the indices of the fields of a struct that matter.
func fieldsOf(t reflect.Type) []int {
	if l, ok := fieldLists.Load(t); ok {
		return l.([]int)
	}
	var list []int
	name, _, _ := strings.Cut(t.String(), "[") // without type parameters
	for i := range t.NumField() {
		if t != countersType && !volatile[name][t.Field(i).Name] {
			list = append(list, i)
		}
	}
	fieldLists.Store(t, list)
	return list
}

// entries walks through a map in the order of its keys, which are integers or
// of a type whose order does not matter because it is a key alone.
func (d *digester) entries(v reflect.Value) {
	d.add(uint64(v.Len()))
	keys := v.MapKeys()
	if len(keys) > 1 {
		sort.Slice(keys, func(i, j int) bool { return keyLess(keys[i], keys[j]) })
	}
	for _, k := range keys {
		d.value(k)
		d.value(v.MapIndex(k))
	}
}

// keyLess orders keys of maps: integers, and structs of integers.
func keyLess(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if keyLess(a.Field(i), b.Field(i)) {
				return true
			}
			if keyLess(b.Field(i), a.Field(i)) {
				return false
			}
		}
		return false
	}
	panic("world: a map with keys of type " + a.Type().String())
}
