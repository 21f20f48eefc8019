// Package across chooses how data are written that another core is to read.
//
// What a core has written lies in its cache, and to read it there takes between a nanosecond and thirty for a line: two processors of
// a virtual machine may be threads of one core, neighbours, or far apart, and the host moves them about every few seconds. Where
// it takes long, both are faster if what is written to is in the cache of neither, or if the writer goes around the caches, to memory; for whole blocks it can be faster still
// that they are not copied at all, and the reader fetches them by cross-memory attach. Nobody can tell beforehand. So who reads
// keeps a Gauge for who writes: some blocks of each length are timed at both ends, and the reader asks for the form in which they
// took least. Now and then a block takes another form, to see whether that would be better by now. Data are the same in all forms, so a
// choice that is wrong, or late, costs time only.
//
// The same is done in C (internal/boardc/across.h), on the same words.
package across

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// Form is how a block is written.
type Form uint32

const (
	// Hot: to where the last one was, whose lines are in the caches.
	Hot Form = iota
	// Cold: to where none has been for long, whose lines are in the caches of no core any more: to write to those of another takes
	// longer than to read them, if the two are not threads of one.
	Cold
	// Around the caches.
	Around
	// Lent: the writer tells where its data are.
	Lent
	forms
)

// Forms is a set of those that are possible.
type Forms uint32

// Copied are those of what is copied to shared memory; Roomy those where there is a Belt; and OrLent those of what may be lent as well.
const (
	Copied = Forms(1<<Hot | mem.GoesAround<<Around)
	Roomy  = Copied | 1<<Cold
	OrLent = Roomy | 1<<Lent
)

// Stage and Belt are what a writer has for Hot copies, and for Cold ones, in bytes: this is more than a core has of cache for itself, on the processors that we
// know.
const (
	Stage = 512 << 10
	Belt  = 2 << 20
)

// Least is the length in bytes from which there is a choice, for lengths of the same power of two, and for all long ones.
const (
	Least   = 1024
	sizes   = 11       // powers of two, the last with all longer ones
	long    = 3        // the one from which on blocks are long: a few cold ones do not show what many are worth, since the lines of a belt may be in no cache at all by then
	Classes = long + 1 // for which there is a choice
	first   = 8        // blocks of a length, before other forms are tried than that of the nearest class
	givenUp = 64       // after which the others are tried as seldom as if they were known, though nobody has noted them
	timed   = 64       // one block of so many is
	tried   = 512      // of so many the last ones take another form
	short   = 2048     // blocks of fewer bytes
	rarely  = 8        // are timed, and take another form, so many times as seldom: they are soon through,
	early   = 8192     // but for so many of all that are counted, until it is known what they take
	row     = 3        // in a row do, of which the last is timed: the first hot one behind others is written to lines that are as good as cold
	seldom  = 32       // one of so many long ones is cold, all in a row: for once around the belt, and then as many as a row
	never   = 4        // times as seldom, where cold ones take twice as long
	later   = 4        // times as many blocks come before that, where it is put off
	samples = 2        // of each form, before there is a choice; the least of them counts
)

// Gauge is what a reader keeps for a writer, in memory that both share. A fresh one is zero.
type Gauge struct {
	asks   atomic.Uint32 // 3 bits a class: 1 + the form, or 0: all have to be tried; and hopeless
	_      [60]byte
	blocks [sizes]uint16 // that have been written
	_      [42]byte
	cost   [Classes][forms]uint32 // ticks for 16 KiB
	seen   [Classes][forms]uint8  // blocks of the form, up to samples
	ahead  uint32                 // see Ahead
	_      [44]byte
}

// Ahead says that who writes makes lines of its belt its own while it waits: then cold blocks that are not timed take less than those that are, by a quarter at least.
func (g *Gauge) Ahead() { g.ahead = 1 }

// Beside what is asked for: hopeless says that long blocks take more than twice as long if they are cold as they do in that form: where cores share no cache,
// a belt does not leave that of who reads. untried says that it is not known: if to go around the caches takes less than half of what hot blocks do they are
// probably such, and to find out, which takes one time around the belt, is put off.
const (
	hopeless = 1 << 31
	untried  = 1 << 30
)

// Size is that of a Gauge in bytes.
const Size = int(unsafe.Sizeof(Gauge{}))

// Way is how a block is to be written, and whether that is to be timed.
type Way struct {
	Form  Form
	Timed bool
}

func size(n int) int  { return min(bits.Len(uint(n))-bits.Len(Least), sizes-1) }
func class(n int) int { return min(size(n), long) }

// behind is the step-th form behind one, round.
func (f Forms) behind(form Form, step int) Form {
	for step > 0 {
		if form = (form + 1) % forms; f>>form&1 != 0 {
			step--
		}
	}
	return form
}

func (f Forms) number() int { return bits.OnesCount32(uint32(f)) }

// nearest is what is asked for the class that is nearest to one; else Hot.
func nearest(all uint32, c int) Form {
	for d := 1; d < Classes; d++ {
		for _, i := range [2]int{c - d, c + d} {
			if i < 0 || i >= Classes {
				continue
			}
			if asked := Form(all >> (3 * i) & 7); asked != 0 {
				return asked - 1
			}
		}
	}
	return Hot
}

// burst is how many blocks of n bytes have to be cold in a row until they show what that is worth, 0: any does.
func burst(n int, f Forms) int {
	if n < Least<<long || f>>Cold&1 == 0 {
		return 0
	}
	return Belt/n + row
}

// lead is how many long blocks take these forms, all but Cold, before that is tried: as many as they need to be known.
func (f Forms) lead() int { return first + samples*row*f.number() }

// Way is for who writes n bytes next.
func (g *Gauge) Way(n int, f Forms) Way {
	if n < Least || f == 1<<Hot {
		return Way{}
	}
	c, s := class(n), size(n)
	count := int(g.blocks[s])
	g.blocks[s]++
	all := g.asks.Load()
	asked := Form(all >> (3 * c) & 7)
	form := asked - 1
	if asked == 0 {
		form = nearest(all, c)
	}
	if f>>form&1 == 0 {
		form = Hot // that is no word of a reader's
	}
	if cold := burst(n, f); cold > 0 {
		f &^= 1 << Cold
		lead, often, known := f.lead(), cold*seldom, all&hopeless != 0
		if known {
			often *= never
		}
		at := count % often
		switch {
		case asked == 0:
			at = count - lead
		case all&untried != 0:
			at = count - later*cold
		}
		if at >= 0 && at < cold && (asked == 0 || form != Cold && !(known && count < cold)) {
			return Way{Cold, at+samples >= cold}
		}
		if asked == 0 && at >= cold {
			count -= cold
		}
	}
	if i := count - first; asked == 0 && i < givenUp-first {
		if i < 0 {
			return Way{form, false}
		}
		return Way{f.behind(Hot, i/row%f.number()), i%row == row-1}
	}
	times := 1
	if n < short && count >= early {
		times = rarely
	}
	others := f &^ (1 << form)
	if at := count % (tried * times); at >= tried*times-row && others != 0 {
		return Way{others.behind(form, 1+count/(tried*times)%others.number()), at == tried*times-1}
	}
	return Way{form, count%(timed*times) == timed*times-1}
}

// Prepares reports whether the next block of n bytes is Cold as those before, and not timed: then it may be written to lines that the
// writer has made its own while it waited. What is timed must not, since that time is not in it: where cores share no cache it is much.
func (g *Gauge) Prepares(n int) bool {
	return Form(g.asks.Load()>>(3*class(n))&7) == 1+Cold && g.blocks[size(n)]%timed != timed-1
}

// Told is what the reader is told of a block that is timed: the ticks that it took to write it, its bytes, and the form; 0 of
// others.
type Told uint64

const (
	formBits  = 2
	byteBits  = 24
	tickShift = formBits + byteBits
)

// Tell is what is told of n bytes that took so many ticks to write, 0 if they are Lent.
func Tell(form Form, n int, ticks uint64) Told {
	return Told(ticks<<tickShift | min(uint64(n), 1<<byteBits-1)<<formBits | uint64(form))
}

// Ticks are those that it took to write the block.
func (t Told) Ticks() uint64 { return uint64(t >> tickShift) }

// Began is the time at which the reading of a block begins, if it is to be timed.
func (t Told) Began() uint64 {
	if t == 0 {
		return 0
	}
	return mem.Ticks()
}

// Ended is for who has read a block.
func (g *Gauge) Ended(t Told, began uint64, f Forms) {
	if t != 0 {
		g.Note(t, mem.Ticks()-began, f)
	}
}

// Note notes that a block has been read in so many ticks.
func (g *Gauge) Note(t Told, ticks uint64, f Forms) {
	n := uint64(t>>formBits) & (1<<byteBits - 1)
	form := t & 3
	if n < Least || f>>form&1 == 0 {
		return // that is no word of a writer's
	}
	c := class(int(n))
	sample := (t.Ticks() + ticks) << 14 / n
	cost, seen := &g.cost[c], &g.seen[c]
	switch was := uint64(cost[form]); {
	case seen[form] < samples:
		if sample = min(sample, math.MaxUint32/8); seen[form] == 0 || sample < was {
			cost[form] = uint32(sample)
		}
		seen[form]++
	case sample < was: // it can be so fast, what took longer may have been interrupted
		cost[form] -= uint32((was - sample) / 2)
	default:
		cost[form] += uint32((min(sample, 2*was) - was) / 8)
	}
	all := g.asks.Load()
	asked, best := all>>(3*c)&7, uint32(0)
	unknown := c == long && f>>Cold&1 != 0 && seen[Cold] < samples
	far := unknown && seen[Around] == samples && seen[Hot] == samples && cost[Around] < cost[Hot]/2
	for i := range uint32(forms) {
		switch {
		case f>>i&1 == 0:
			continue
		case seen[i] == samples:
		case unknown && i == uint32(Cold) && (far || asked != 0):
			continue
		default:
			return
		}
		if best == 0 || g.expected(c, i) < g.expected(c, best-1) {
			best = i + 1
		}
	}
	if asked != 0 && f>>(asked-1)&1 != 0 && g.expected(c, best-1) > g.expected(c, asked-1)/8*7 {
		best = asked
	}
	word := with(all, c, Form(best-1))
	if c == long {
		switch word &^= hopeless | untried; {
		case unknown:
			word |= untried
		case f>>Cold&1 != 0 && cost[Cold]/2 > cost[best-1]:
			word |= hopeless
		}
	}
	if word != all {
		g.asks.Store(word)
	}
}

// expected is what a block of a form that is not timed takes.
func (g *Gauge) expected(class int, form uint32) uint32 {
	cost := g.cost[class][form]
	if form == uint32(Cold) && g.ahead != 0 {
		return cost / 4 * 3
	}
	return cost
}

// with is what is asked for with a form for a class.
func with(all uint32, class int, form Form) uint32 {
	return all&^(7<<(3*class)) | uint32(1+form)<<(3*class)
}

// Ask asks for a form of a class of lengths.
func (g *Gauge) Ask(class int, form Form) {
	g.asks.Store(with(g.asks.Load(), class, form))
}

// Write writes data as the reader asks, and returns what it is to be told of that.
func (w Way) Write(dst, src []byte) Told {
	if !w.Timed {
		w.copy(dst, src)
		return 0
	}
	begun := mem.Ticks()
	w.copy(dst, src)
	mem.Fence() // what is stored takes part of the time at it
	return Tell(w.Form, min(len(dst), len(src)), mem.Ticks()-begun)
}

func (w Way) copy(dst, src []byte) {
	if w.Form == Around {
		mem.Around(dst, src)
	} else {
		mem.Across(dst, src)
	}
}
