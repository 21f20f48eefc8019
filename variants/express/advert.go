package express

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// advert is what both sides know a rendezvous by: its address, and the word
// that says what has been advertised, 0 if nothing.
type advert struct{ at, word uint64 }

// rendezvous is struct express_rendezvous of package lanec, which says what the word means.
type rendezvous struct {
	word        atomic.Uint64
	_           [2]uint64
	to, _, from uint64
	room, _     uint32
	size, front uint32 // of the message, and how much of it is the front
}

// The bits of the word.
const (
	advertised = 1 << 0
	claimed    = 1 << 1
	frontDone  = 1 << 2
	backDone   = 1 << 3
	whole      = frontDone | backDone
	broken     = 1 << 4
	seen       = 1 << 5
	taken      = 1 << 6
	later      = 1 << 7
	led        = 1 << 8
	states     = 0x1ff
)

// Of room: the receive copies the back itself.
const awaited = 1 << 29

// Miss counts that noted receives have waited for rendezvous in vain: exanet_tried of the
// preload library.
func (p *Port) Miss() {
	const rest = 4
	if p.Shy < 0 {
		p.Shy++
	} else {
		p.Shy = rest
	}
}

func (a advert) rendezvous() *rendezvous { return mem.Deref[rendezvous](a.at) }

// complete is that of package lanec.
func (a advert) complete(w uint64) bool { return w>>32 != a.word>>32 || w&(whole|broken) == whole }

// part is one that a side may copy: the bits that say that somebody copies it, and that it has
// been copied, and the bytes.
type part struct {
	begun, done uint64
	from, to    uint32
}

// next returns a part that nobody copies yet, if this side may.
func (m *rendezvous) next(w uint64, sends bool) (p part, ok bool) {
	switch {
	case w&(later|led) == later:
		return part{led, frontDone, 0, m.front}, true
	case w&taken == 0 && !(sends && m.room&awaited != 0):
		return part{taken, backDone, m.front, m.size}, true
	}
	return p, false
}

// finish copies what nobody copies yet of a rendezvous that has been claimed, and waits for what the
// other side does, for so many turns of the processor.
func (a advert) finish(sends bool, copied func(from, to uint32) bool) {
	const waits = 1000
	m := a.rendezvous()
	for i := 0; i < waits; {
		w := m.word.Load()
		if w&broken != 0 || a.complete(w) {
			return
		}
		p, ok := m.next(w, sends)
		if !ok {
			sys.Yield()
			i++
			continue
		}
		if m.word.CompareAndSwap(w, w|p.begun) {
			if !copied(p.from, p.to) {
				return
			}
			m.word.Or(p.done)
		}
	}
}

// endReceive ends what has been advertised to the peer at a port, for a buffer, and reports whether,
// and of what size, the message has come.
func (a advert) endReceive(p *Port, buf uint64, read Copy) (size uint32, passed bool) {
	m := a.rendezvous()
	if w := m.word.Load(); w&claimed != 0 || !m.word.CompareAndSwap(w, w&^states) {
		a.finish(false, func(from, to uint32) bool {
			return read(p, m.from+uint64(from), mem.At(buf+uint64(from), int(to-from)))
		})
		size, passed = m.size, a.broken(broken)
	}
	atomic.AndUint64(&p.Open, ^(uint64(1) << (a.at / mem.CacheLine % 64)))
	return size, passed
}

// endSend ends what a send to the peer at a port has claimed, and reports whether its message has been
// passed.
func (a advert) endSend(p *Port, buf uint64, write Copy) bool {
	m := a.rendezvous()
	a.finish(true, func(from, to uint32) bool {
		return write(p, m.to+uint64(from), mem.At(buf+uint64(from), int(to-from)))
	})
	return a.broken(broken | seen)
}

// broken breaks a rendezvous unless it is complete, and reports whether it is.
func (a advert) broken(how uint64) (complete bool) {
	m := a.rendezvous()
	for {
		w := m.word.Load()
		if a.complete(w) {
			return true
		}
		if m.word.CompareAndSwap(w, w|how) {
			return false
		}
	}
}
