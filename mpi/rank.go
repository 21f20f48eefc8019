package mpi

import (
	"sync"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/mpi/internal/progress"
	"github.com/exanet-mpi/exanet/variants"
)

// rank is one MPI process, or one of several in this process: a protocol and a
// fabric under a lock, with an engine that makes progress (package progress).
type rank struct {
	mu progress.Lock
	*progress.Engine
	fab        fabric
	proto      protocol
	limit      int       // of eager messages, in bytes
	looksFirst bool      // the protocol goes by who comes first
	near       near      // see receiveNow
	fast       *fastPath // nil: there is none
	check      *checker  // nil: the mode is off, see check.go
	level      ThreadLevel

	recycling   bool            // what has ended is taken back, see recycle.go
	slab        []Request       // not used yet
	recycled    spares[Request] // to be used again
	spare       spares[pooled]
	pairs       spares[pair]
	fixed       spares[persistent]
	found       spares[Message]
	algorithms  *coll.Selection // of collectives, see Comm.algorithms
	sharing     *collective     // calls that wait in shared memory
	idling      sync.Mutex      // of what follows
	idle        *collective     // for reuse
	idles       int
	lastPending int      // index at which TestAll has stopped
	watched     watched  // requests that calls for any of several have met
	codes       ownCodes // of errors
	leavings    leavings // sends under way that no call waits for
	scratch     [][]byte // for reductions
	probes      *probe   // calls of Probe that wait
	spareProbes spares[probe]
	views       []*shm.View // areas that C makes calls in, and the calls of those
	collectives [coll.Collectives]shm.Count
	stats       *callStats    // nil: not wanted
	idents      commid.Supply // of communicators that this rank leads
	likely      bool          // see settings
	ending      bool          // Finalize has been called
	counts      map[int]int   // by slot, of those that it counts: how many ranks use them, see expect
	closing     []*Comm       // freed, but requests are pending on them
	selfOnce    sync.Once
	self        *Comm // see Comm.Self
}

func newRank(f fabric, o *settings) (*rank, error) {
	proto, err := newProtocol(o, f)
	if err != nil {
		return nil, err
	}
	if err := ordered(proto.NeedsOrder(), f.Order(), o); err != nil {
		return nil, err
	}
	k := &rank{fab: f, proto: proto, limit: f.Limit(), level: o.level, recycling: o.recycling,
		looksFirst: o.looksFirst(), likely: o.likely}
	k.stats, k.algorithms = newCallStats(o.variant, o.passed), o.algorithms
	k.leavings.rule = o.buffers
	offers := progress.OffersOf(f)
	if k.check = newChecker(k, o); k.check == nil {
		k.near.open(f, proto)
	}
	shared := offers.Shared
	if o.path != "" { // there is some, but none of all ranks of a host
		shared = nil
	}
	if o.device != deviceHost && o.device != deviceNetwork { // the others are as the prototype, whose ranks share none
		offers.Shared = nil
	}
	if !offers.AllShare() {
		k.counts = make(map[int]int)
		proto.OnLeft(k.departed)
	}
	k.Engine = progress.New(&k.mu, f, offers, proto, k, o.outside)
	areas := 0
	if k.Shared != nil {
		areas = k.Shared.Areas()
	}
	k.idents = commid.NewSupply(f.Rank(), areas, k.vacant)
	if k.check != nil {
		k.check.openWaits(shared, o)
	}
	if !o.still {
		k.Begin()
	}
	return k, nil
}

// quit ends what runs beside the calls, and gives the fabric up if the rank has left in good order: else calls of
// other goroutines may be under way.
func (k *rank) quit(err error) {
	if k.check != nil {
		k.check.waits.close()
	}
	k.Close()
	if err == nil {
		k.fab.Close()
	}
}

// Advance carries on the schedule of a request (progress.Owner).
func (k *rank) Advance(b *variants.Batch) { k.advance(b.Owner.(*Request)) }

// Polled closes communicators that have been freed (progress.Owner).
func (k *rank) Polled(moved bool) {
	if k.check != nil {
		k.check.polled(moved)
	}
	if len(k.closing) > 0 {
		k.reap()
	}
}
