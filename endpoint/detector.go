package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Detector is how a rank finds out which others have ended, where no launcher tells: by writing to them. Each rank has
// a table with a word for each other one. A rank that waits writes to its word at one rank after the other, by
// transfers of size 0 with a notification. The rank at the other end does nothing for that: the hardware answers, and
// says ErrGone if nobody holds the channel any more. A rank that leaves in good order says so in its words, so it is
// not taken for one that has died.
//
// A node that is cut off does not answer. Neither does a device in software that gets no processor. So a rank writes to
// itself as well, and takes others for silent only as long as its own device answers.
//
// Its rank serialises the calls, as those of the Endpoint.
type Detector struct {
	e       *Endpoint
	silence time.Duration
	table   []byte    // words of the others
	address uint64    // of the table
	peers   []probe   // by rank
	asking  []int     // ranks that a probe is on its way to
	cursor  int       // the rank that was asked last
	due     time.Time // for the next
	looked  time.Time
	beating bool      // a write to this rank itself is on its way
	beat    time.Time // for the next of these
	silent  error     // the own device was given up
}

// probe is what a rank knows of another one.
type probe struct {
	word     uint64 // where this rank writes
	transfer rdmaeng.Transfer
	quiet    time.Duration // for which it has not answered
	ended    bool
}

const (
	wordSize   = 16 // bytes, and their alignment
	leavesIn   = 0  // the word in a notification that says whether its rank leaves
	mostAsking = mmio.Descriptors / 4

	// In the time of silence a rank asks all others so often, and its own device.
	turnsIn = 5
	beatsIn = 50

	// The own device is given up after so many times of silence, of which a time between two looks counts at most
	// longestLook: else this process was not running, or not waiting.
	patience    = 10
	longestLook = 100 * time.Millisecond
)

// NewDetector makes the detector of a rank of so many, which takes a rank for dead that has not answered for the time
// of silence. Its Table goes into the Entry. There is an error if the memory that the device reaches has no room for
// the table.
func (e *Endpoint) NewDetector(ranks int, silence time.Duration) (d *Detector, err error) {
	d = &Detector{e: e, silence: silence, peers: make([]probe, ranks)}
	if d.table, d.address, err = e.channel.Words(ranks * wordSize); err != nil {
		return nil, fmt.Errorf("a table of %d ranks: %w, or start fewer ranks", ranks, err)
	}
	for i := range ranks { // written, so that it is memory: the device may not be able to make it so
		*mem.Struct[rdmaeng.Notification](d.table, i*wordSize) = rdmaeng.Pending
	}
	e.channel.See(d.table)
	return d, nil
}

// Table is the Exanet address of the words.
func (d *Detector) Table() uint64 { return d.address }

// Begin tells the detector where the others are, once the endpoint has joined them.
func (d *Detector) Begin(entries []Entry) {
	for i, x := range entries {
		d.peers[i].word = x.Table + uint64(d.e.rank*wordSize)
	}
	d.looked = time.Now()
}

// left reports whether a rank has left in good order.
func (d *Detector) left(rank int) bool {
	d.e.channel.See(d.table[rank*wordSize : (rank+1)*wordSize])
	return mem.U32(d.table, rank*wordSize+leavesIn).Load() == 1
}

// SilentError is a device that does not answer the ranks of its own node, which reach nobody any more.
type SilentError struct {
	Node uint16
	For  time.Duration
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("the device of this node, %d, has not answered for %v; see whether it works, or whether the "+
		"exanet that plays it still runs", e.Node, e.For)
}

// Silent returns a *SilentError if Look has given the own device up.
func (d *Detector) Silent() error { return d.silent }

// Look is called again and again by a rank that waits. It returns ranks that have died, each once.
func (d *Detector) Look(now time.Time) (dead []int) {
	alive, gone := d.heartbeat(now)
	if gone {
		d.silent = &SilentError{Node: d.e.Node(d.e.rank), For: patience * d.silence}
		for rank := range d.peers {
			dead = append(dead, d.end(rank)...)
		}
	}
	asking := d.asking[:0]
	for _, rank := range d.asking {
		p := &d.peers[rank]
		done, err := d.e.Test(&p.transfer)
		switch {
		case p.ended:
		case done && hopeless(err):
			dead = append(dead, d.end(rank)...)
		case done && err == nil:
			p.quiet = 0
		case done: // its memory cannot be written, now
			p.quiet += d.silence / turnsIn
		case p.transfer.Slot >= 0: // else it has no descriptor yet, which is this rank's affair
			p.quiet += alive
		}
		if p.quiet >= d.silence && !p.ended {
			dead = append(dead, d.endNode(d.e.Node(rank))...)
		}
		if !done && !p.ended {
			asking = append(asking, rank)
		}
	}
	d.asking = asking
	if now.Before(d.due) || len(d.asking) == mostAsking {
		return dead
	}
	d.due = now.Add(d.silence / time.Duration(turnsIn*len(d.peers)))
	if rank := d.next(); rank >= 0 {
		d.write(rank, rdmaeng.Notification{})
		d.asking = append(d.asking, rank)
	}
	return dead
}

// heartbeat looks after the writes to this rank itself: for how long the device has shown since the last look that it
// works, or that it is to be given up.
func (d *Detector) heartbeat(now time.Time) (alive time.Duration, gone bool) {
	passed := min(now.Sub(d.looked), longestLook)
	d.looked = now
	me := &d.peers[d.e.rank]
	if !d.beating {
		if !now.Before(d.beat) {
			d.write(d.e.rank, rdmaeng.Notification{})
			d.beating = true
		}
		return 0, false
	}
	if done, _ := d.e.Test(&me.transfer); done {
		d.beating, me.quiet = false, 0
		d.beat = now.Add(d.silence / beatsIn)
		return d.silence / beatsIn, false
	}
	if me.transfer.Slot >= 0 {
		me.quiet += passed
	}
	return 0, me.quiet >= patience*d.silence
}

// hopeless reports whether an answer says that the process of the other end has gone: its channel is free, or another
// group's, or its node is out of reach.
func hopeless(err error) bool {
	return errors.Is(err, rdmaeng.ErrGone) || errors.Is(err, packetizer.ErrNoDevice) ||
		errors.Is(err, packetizer.ErrProtection)
}

// next is the rank to ask next, -1 if there is none.
func (d *Detector) next() int {
	for range d.peers {
		d.cursor = (d.cursor + 1) % len(d.peers)
		if !d.peers[d.cursor].ended && d.cursor != d.e.rank && !slices.Contains(d.asking, d.cursor) {
			return d.cursor
		}
	}
	return -1
}

func (d *Detector) write(rank int, n rdmaeng.Notification) {
	p := &d.peers[rank]
	p.transfer = rdmaeng.Transfer{To: rank, Dst: rdmaeng.Window{Notify: p.word}, Notify: n}
	d.e.Start(&p.transfer)
}

// end ends the interest in a rank, and returns it if it has died.
func (d *Detector) end(rank int) (dead []int) {
	p := &d.peers[rank]
	if rank != d.e.rank && !p.ended && !d.left(rank) {
		dead = []int{rank}
	}
	p.ended = true
	return dead
}

// endNode is end for the ranks of a node that does not answer.
func (d *Detector) endNode(node uint16) (dead []int) {
	for rank := range d.peers {
		if d.e.Node(rank) == node {
			dead = append(dead, d.end(rank)...)
		}
	}
	return dead
}

// Leave says to all others that this rank leaves in good order, and waits until they have that, or will not. What comes
// meanwhile is dropped, so that the others can leave as well.
func (d *Detector) Leave() {
	until := time.Now().Add(patience * d.silence)
	wait := func(done func() bool) {
		for round := 0; !done() && time.Now().Before(until); round++ {
			for _, _, ok := d.e.Next(); ok; _, _, ok = d.e.Next() {
				d.e.Release()
			}
			d.e.Idle(round)
		}
	}
	settle := func(ranks ...int) {
		for _, rank := range ranks {
			p := &d.peers[rank]
			wait(func() bool { done, _ := d.e.Test(&p.transfer); return done || p.ended })
		}
	}
	settle(d.asking...) // each has one transfer
	if d.beating {
		settle(d.e.rank)
	}
	wait(d.e.Drained) // what has been sent is there before the rank is known to have left
	d.asking = nil
	for rank := range d.peers {
		if rank != d.e.rank && !d.peers[rank].ended && !d.left(rank) {
			d.write(rank, rdmaeng.Notification{leavesIn: 1})
			d.asking = append(d.asking, rank)
		}
	}
	settle(d.asking...)
}
