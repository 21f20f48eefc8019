package standing

import (
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Remote is the sender's side of the buffers of a channel.
type Remote struct {
	ctx     *variants.Context
	partner *Partner
	size    int
	windows [slots]rdmaeng.Window
	used    uint32 // uses that have begun
	freed   uint32 // uses that are over, as far as the receiver has told
}

// Got takes what Stand tells of buffers.
func (x *Partner) Got(ctx *variants.Context, number uint32, words []byte) *Remote {
	o := &Remote{ctx: ctx, partner: x, size: int(variants.Word(words, 2*slots))}
	for i := range o.windows {
		o.windows[i] = rdmaeng.Window{Addr: variants.Word(words, 2*i), Notify: variants.Word(words, 2*i+1)}
	}
	x.got[number] = o
	return o
}

// Drop forgets buffers that have been revoked.
func (x *Partner) Drop(number uint32) { delete(x.got, number) }

// over takes the receiver's word on how many uses are over; an older word may come later.
func (o *Remote) over(freed uint32) {
	if int32(freed-o.freed) > 0 {
		o.freed = freed
	}
}

// Takes reports whether a send can go into a buffer that stands.
func (o *Remote) Takes(r *variants.Request) bool {
	if o == nil || r.Mode == variants.Synchronous || r.Len() > o.size {
		return false
	}
	if o.partner.peer.Backlogged() {
		return false // the write would overtake what waits
	}
	return o.used-o.freed < slots
}

// Use returns where a send is written to, and the notification of the write.
func (o *Remote) Use(r *variants.Request) (variants.Room, rdmaeng.Notification) {
	x := o.partner
	var told *Landing
	if len(x.owing) > 0 {
		told = x.owing[0]
		told.Tell()
	}
	n := notice(r.Len(), r.Ticket, x.sent, told)
	to := variants.Room{Window: o.windows[o.used%slots], Capacity: o.size}
	x.oneWay = false
	x.sent++
	o.used++
	return to, n
}
