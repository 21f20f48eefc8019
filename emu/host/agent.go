package host

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The agent of the read-based baseline: the prototype has a processor beside
// each sender that starts writes on a receiver's word (thesis 2.6). Here the
// sender's own polling does that.

// fetchBody is the payload of a fetchRecord; its word 1 names the source.
type fetchBody struct {
	dst    rdmaeng.Window
	size   uint64
	notify rdmaeng.Notification
}

// Offer implements rdmaeng.Reader.
func (f *Fabric) Offer(buf []byte) (int, rdmaeng.Window) { return f.Expose(buf) }

// OfferView implements rdmaeng.Reader. Nobody else touches the memory: the
// agent knows its layout.
func (f *Fabric) OfferView(v datatype.View) (int, rdmaeng.Window) { return f.ExposeView(v) }

// Fetch implements rdmaeng.Reader.
func (f *Fabric) Fetch(from int, src, dst rdmaeng.Window, size int, n rdmaeng.Notification) bool {
	r := f.job.ringOf(f.me, from)
	c, _ := f.space(r, from, true, 0)
	if c == nil {
		return f.lost(from)
	}
	*(*fetchBody)(unsafe.Pointer(&c.payload)) = fetchBody{dst, uint64(size), n}
	c.header[1], c.header[2] = src.Notify, 0
	r.publish(&f.job.geo, c, fetchRecord<<32, deviceLength, f.fenced)
	f.Ring(from)
	return true
}

// fetch takes a word to the agent.
func (f *Fabric) fetch(from int, c *cell) {
	body := (*fetchBody)(unsafe.Pointer(&c.payload))
	_, s := f.exposed(c.header[1])
	if s == nil || body.size != uint64(s.size()) {
		return // the send has ended meanwhile: its rank failed it
	}
	t := &rdmaeng.Transfer{To: from, Src: s.buf, View: s.view, Dst: body.dst, Notify: body.notify}
	f.Start(t)
	f.fetches = append(f.fetches, t)
	f.runAgent()
}

// runAgent carries the agent's writes on.
func (f *Fabric) runAgent() {
	f.fetches = rdmaeng.CarryOn(f, f.fetches)
}

var _ rdmaeng.Reader = (*Fabric)(nil)
