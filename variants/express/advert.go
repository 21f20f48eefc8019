package express

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// advert is what a noted receive has advertised: the address of its rendezvous, and the word
// that says so, 0 if nothing.
type advert struct{ at, word uint64 }

// rendezvous is struct express_rendezvous of package lanec, which says what the word means.
type rendezvous struct {
	word atomic.Uint64
	_    [6]uint64
	size uint32 // of the message, and how much of it the send copies
	_    uint32
}

// The bits of the word.
const (
	advertised = 1 << 0
	claimed    = 1 << 1
	whole      = 1<<2 | 1<<3
	broken     = 1 << 4
	states     = 0xff
)

// Miss counts that noted receives have waited for rendezvous in vain: exanet_tried of the
// preload library.
func (p *Port) Miss() {
	const rest = 2
	if p.Shy < 0 {
		p.Shy++
	} else {
		p.Shy = rest
	}
}

// end ends what has been advertised to the peer at a port, and reports whether, and of what
// size, the message has come: express_cancel of package lanec.
func (a advert) end(p *Port) (size uint32, passed bool) {
	m := mem.Deref[rendezvous](a.at)
	for {
		w := m.word.Load()
		switch {
		case w&(whole|broken) == whole:
			size, passed = m.size, true
		case w&(advertised|claimed|broken) == advertised:
			if !m.word.CompareAndSwap(w, w&^states) {
				continue
			}
		case w&(advertised|broken) == advertised:
			if !m.word.CompareAndSwap(w, w|broken) {
				continue
			}
		}
		break
	}
	atomic.AndUint64(&p.Open, ^(uint64(1) << (a.at / mem.CacheLine % 64)))
	return size, passed
}
