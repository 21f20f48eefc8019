package mpi

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/mpi/internal/checking"
	"github.com/exanet-mpi/exanet/network"
)

// Deadlocks in the checking mode. A rank all of whose goroutines have waited for a while publishes what
// they wait for, in memory that all ranks share. Each such rank looks whether it is in a knot: ranks that
// can only be freed by each other. Messages may still be on their way to them. So it watches the knot for two
// rounds, in each of which every rank of it has looked for messages at least once, found nothing, and gone on
// to wait for the same. Then all that was sent before the first has arrived, and nothing was sent after. That is so
// within a host alone: what comes from another may be on its way for long. So ranks of other hosts count as ranks that
// compute, and circles through them are not found.

// How long a rank waits before it publishes. A function that time.AfterFunc is to call has no goroutine before, so
// nothing tells that it will free a Go program: hence the seconds.
const (
	patience  = 5 * time.Second
	patienceC = 40 * time.Millisecond // of a program in C
)

const checkTick = 20 * time.Millisecond // between two looks

// A post is a rank's place in the shared memory.
type post struct {
	stamp  atomic.Uint64 // of what is published, 0: nothing
	beats  atomic.Uint64 // looks in vain since
	doomed atomic.Uint64 // the stamp with which the rank is in a deadlock
	bytes  atomic.Uint64 // of the text in words
	words  [postWords]atomic.Uint64
}

const (
	postSize  = 4096
	postWords = postSize/8 - 4
)

// waits are those of a rank. The rank's lock guards them, except for posts.
type waits struct {
	k        *rank
	shared   network.SharedMemory // nil: deadlocks are not looked for
	level    bool                 // code in C waits, and no other thread of it makes calls
	patience time.Duration
	list     []*waitingCall
	since    time.Time // of the last change
	epoch    uint64    // counts changes
	posted   bool
	stamps   uint64
	failed   bool // its waits have been ended
	ended    chan struct{}

	suspects  []suspect // of the last look that found a knot
	confirmed int       // rounds
}

type suspect struct {
	rank         int
	stamp, beats uint64
}

// inWaits counts the waits of all ranks of this process, see check_goroutines.go.
var inWaits atomic.Int64

// openWaits makes a rank look for deadlocks, if it shares memory with others.
func (x *checker) openWaits(shared network.SharedMemory, o *settings) {
	w, outside := &x.waits, o.outside.Busy != nil
	w.k = x.k
	if shared == nil || outside && o.level == ThreadMultiple || postSize*x.k.fab.Size() > len(shared.Area(0, 0)) {
		return
	}
	if x.k.Hosts != nil && x.k.fab.Rank() == 0 {
		fmt.Fprintln(os.Stderr, "exanet: the ranks are on several hosts: of deadlocks, only those within one are found")
	}
	w.shared, w.level, w.patience, w.ended = shared, outside, o.patience, make(chan struct{})
	if outside {
		w.patience = patienceC
	}
	go w.watch(w.ended)
}

// deadlock reports whether the rank is in one.
func (w *waits) deadlock() bool { return w.shared != nil && w.own().doomed.Load() != 0 }

func (w *waits) post(rank int) *post { return mem.Struct[post](w.shared.Area(0, 0), postSize*rank) }

func (w *waits) own() *post { return w.post(w.k.fab.Rank()) }

// changed says that a wait has begun or ended, or something has arrived. The lock is held.
func (w *waits) changed() {
	w.epoch++
	w.since = time.Now()
	if w.posted {
		w.own().stamp.Store(0)
		w.posted = false
	}
}

// looked is called after each poll.
func (w *waits) looked(moved bool) {
	switch {
	case w.shared == nil:
	case moved:
		w.changed()
	case w.posted:
		w.own().beats.Add(1)
	}
}

// begin notes that a call waits, until end. The lock is held.
func (w *waits) begin(x *waitingCall) {
	inWaits.Add(1)
	w.list = append(w.list, x)
	w.changed()
}

func (w *waits) end(x *waitingCall) {
	inWaits.Add(-1)
	w.list = slices.DeleteFunc(w.list, func(y *waitingCall) bool { return y == x })
	w.changed()
}

// watch looks at the rank's waits now and then, until close.
func (w *waits) watch(ended <-chan struct{}) {
	tick := time.NewTicker(checkTick)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		w.k.mu.Lock()
		if w.deadlock() { // for good, also if others of the knot have ended meanwhile
			w.fail()
		}
		epoch, waits := w.epoch, len(w.list) > 0 && time.Since(w.since) > w.patience && w.k.Deaths() == 0
		w.k.mu.Unlock()
		if !waits {
			continue
		}
		whole := w.level || allWait()
		w.k.mu.Lock()
		if w.epoch == epoch {
			if w.publish(whole); w.posted {
				w.examine()
			}
		}
		w.k.mu.Unlock()
		w.k.fab.WakeForeground() // who waits looks for messages, and says so
	}
}

func (w *waits) close() {
	if w.ended != nil {
		close(w.ended)
		w.ended = nil
	}
}

// publish publishes the rank's waits if all of it waits.
func (w *waits) publish(whole bool) {
	if !whole {
		if w.posted {
			w.changed()
		}
		return
	}
	if w.posted {
		return
	}
	var all []checking.Wait
	for _, x := range w.list {
		text, needs := x.why()
		all = append(all, checking.Wait{Text: text + checking.At(x.site), Needs: needs})
	}
	text, err := json.Marshal(all)
	if err != nil || len(text) > 8*postWords {
		return
	}
	p := w.own()
	p.bytes.Store(uint64(len(text)))
	for i := 0; i < len(text); i += 8 {
		var word uint64
		for j, b := range text[i:min(i+8, len(text))] {
			word |= uint64(b) << (8 * j)
		}
		p.words[i/8].Store(word)
	}
	w.stamps++
	w.posted, w.suspects = true, nil
	p.stamp.Store(w.stamps)
}

// read returns what a rank has published.
func (w *waits) read(rank int) (all []checking.Wait, s suspect) {
	if w.k.host(int32(rank)) != w.k.host(int32(w.k.fab.Rank())) {
		return nil, suspect{rank: rank}
	}
	p := w.post(rank)
	s = suspect{rank: rank, stamp: p.stamp.Load(), beats: p.beats.Load()}
	if s.stamp == 0 {
		return nil, s
	}
	text := make([]byte, min(p.bytes.Load(), 8*postWords))
	for i := range text {
		text[i] = byte(p.words[i/8].Load() >> (8 * (i % 8)))
	}
	if p.stamp.Load() != s.stamp || json.Unmarshal(text, &all) != nil {
		return nil, s
	}
	return all, s
}

// examine looks whether the rank is in a knot, with those of the last times.
func (w *waits) examine() {
	n := w.k.fab.Size()
	ranks, seen := make([][]checking.Wait, n), make([]suspect, n)
	for i := range n {
		ranks[i], seen[i] = w.read(i)
	}
	knot := checking.Knot(ranks)
	in, same, round := false, len(knot) == len(w.suspects), true
	for i, r := range knot {
		in = in || r == w.k.fab.Rank()
		if same = same && w.suspects[i].rank == r && w.suspects[i].stamp == seen[r].stamp; same {
			round = round && seen[r].beats >= w.suspects[i].beats+2
		}
	}
	switch {
	case !in:
		w.suspects = nil
		return
	case same && !round:
		return
	case same:
		w.confirmed++
	default:
		w.confirmed = 0
	}
	w.suspects = w.suspects[:0]
	for _, r := range knot {
		w.suspects = append(w.suspects, seen[r])
	}
	first := w.suspects[0]
	if was := w.post(first.rank).doomed.Load(); w.confirmed < 2 || was == first.stamp ||
		!w.post(first.rank).doomed.CompareAndSwap(was, first.stamp) {
		return
	}
	for _, s := range w.suspects {
		w.post(s.rank).doomed.Store(s.stamp)
	}
	w.k.check.found("deadlock: %s", checking.Cycle(ranks, knot))
}

// fail ends what the rank waits for.
func (w *waits) fail() {
	if w.failed {
		return
	}
	w.failed = true
	for i := range w.k.fab.Size() {
		w.k.proto.PeerFailed(i)
	}
	w.k.Nudge()
}
