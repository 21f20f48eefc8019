package host

import (
	"runtime"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Shared copies that go the same way, to one rank or from one, are carried on together,
// by one system call. To find the other process takes as long as to copy some
// 16 KiB, so that windows of messages of 32 and 64 KiB would spend their time with that.
//
// A batch is claimed, copied and finished in one go. If the kernel copies a part of it
// only, the claims of the portions that are not whole are broken, and these copies
// alone take another way.
const (
	batchMost  = 8         // copies at a time
	batchBytes = 256 << 10 // and with so much to copy the way in does not matter
)

// portion is what this rank has claimed of a copy.
type portion struct {
	t        *rdmaeng.Transfer // which it writes,
	s        *share            // or reads
	claim    *claim
	gen      uint32
	units, n int    // of the copy, and claimed
	local    []byte // this rank's end
	remote   uint64 // the address of the other end
}

// batch is the portions that go together. It is empty between calls.
type batch struct {
	portions      []portion
	bytes         int
	local, remote []sys.Iovec
}

// full reports whether a batch has enough.
func (b *batch) full() bool { return len(b.portions) >= batchMost || b.bytes >= batchBytes }

func (b *batch) clear() {
	clear(b.portions)
	b.portions, b.bytes = b.portions[:0], 0
}

// add claims what p shall be of a copy between buf, here, and addr, there, and adds it
// to the batch, if any of it is left.
func (f *Fabric) add(p portion, buf []byte, addr uint64) {
	unit, units := unitOf(len(buf))
	first, n := p.claim.take(p.gen, units, want(unit, units), p.s != nil)
	if n == 0 {
		return
	}
	at, end := first*unit, min((first+n)*unit, len(buf))
	p.units, p.n = units, n
	p.local, p.remote = buf[at:end], addr+uint64(at)
	f.batch.portions = append(f.batch.portions, p)
	f.batch.bytes += end - at
}

func (f *Fabric) addWrite(t *rdmaeng.Transfer) {
	c := f.job.ringOf(f.me, t.To).head.claim(int(t.Slot))
	f.add(portion{t: t, claim: c, gen: t.Share}, t.Src, t.Dst.Addr)
}

func (f *Fabric) addRead(s *share) {
	if _, e := f.exposed(s.target); e != nil {
		f.add(portion{s: s, claim: s.claim, gen: s.gen}, e.buf[:s.size], s.addr)
	}
}

// writeBatch carries the writer's part in a transfer on, and in others to the same rank,
// whose next Test sees what has become of them.
func (f *Fabric) writeBatch(t *rdmaeng.Transfer) {
	b := &f.batch
	f.addWrite(t)
	for _, o := range f.offers {
		if b.full() {
			break
		}
		if o != t && o.To == t.To {
			f.addWrite(o)
		}
	}
	f.wrote = f.wrote || len(b.portions) > 0
	whole := f.copyBatch(t.To, false)
	for i := range b.portions {
		p := &b.portions[i]
		if i >= whole {
			p.claim.giveUp(p.gen)
			continue
		}
		p.t.Done += len(p.local)
		if p.claim.finish(p.gen, p.units, p.n) {
			f.retract(p.t)
			p.t.Stage = stageNotify
		}
	}
	b.clear()
}

// readBatch carries the reader's part in one of the copies offered on, and in others of
// the same rank.
func (f *Fabric) readBatch(first int) {
	b := &f.batch
	from := f.shares[first].from
	f.addRead(&f.shares[first])
	for i := range f.shares {
		if b.full() {
			break
		}
		if s := &f.shares[i]; i != first && s.from == from {
			f.addRead(s)
		}
	}
	whole := 0
	if !f.job.Dead(from) {
		whole = f.copyBatch(from, true)
	}
	for i := range b.portions {
		p := &b.portions[i]
		if i >= whole {
			p.claim.giveUp(p.gen)
			f.job.wake(from, bellBackground)
			f.job.wake(from, bellForeground)
			continue
		}
		if p.claim.finish(p.gen, p.units, p.n) {
			slot, e := f.exposed(p.s.target)
			e.data = p.s.notify
			f.notified = append(f.notified, slot)
			f.job.control(from).foreground.Add(1)
			f.Ring(from)
		}
	}
	b.clear()
}

// copyBatch copies the batch to a rank or, if it is to be read, from it, and returns how
// many portions are whole, from the first one on.
func (f *Fabric) copyBatch(rank int, read bool) (whole int) {
	b := &f.batch
	if f.within(rank) {
		for i := range b.portions {
			p := &b.portions[i]
			to, from := mem.At(p.remote, len(p.local)), p.local
			if read {
				to, from = from, to
			}
			mem.Copy(to, from)
		}
		return len(b.portions)
	}
	b.local, b.remote = b.local[:0], b.remote[:0]
	for i := range b.portions {
		p := &b.portions[i]
		n := uint64(len(p.local))
		b.local = append(b.local, sys.Iovec{Addr: mem.Addr(p.local), Len: n})
		b.remote = append(b.remote, sys.Iovec{Addr: p.remote, Len: n})
	}
	call := sys.VMWritev
	if read {
		call = sys.VMReadv
	}
	pid := int(f.job.control(rank).pid.Load())
	local, remote := b.local, b.remote
	for len(local) > 0 {
		n, err := call(pid, local, remote)
		if err != nil || n == 0 {
			break
		}
		for left := uint64(n); left > 0; {
			k := min(left, local[0].Len)
			local[0] = sys.Iovec{Addr: local[0].Addr + k, Len: local[0].Len - k}
			remote[0] = sys.Iovec{Addr: remote[0].Addr + k, Len: remote[0].Len - k}
			left -= k
			if local[0].Len == 0 {
				local, remote = local[1:], remote[1:]
			}
		}
	}
	runtime.KeepAlive(b.portions)
	return len(b.portions) - len(local)
}
