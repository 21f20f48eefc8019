package host

import (
	"runtime"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Direct copies: the writer moves the data from where they lie to where they
// belong, whatever the layouts of the two ends. Between processes the kernel does
// it, which takes lists of segments at both ends. A segment of the other process
// costs about 330 ns, the time to find its page, and a local one 40 ns, so that
// short ones are better packed on the way: local ones into a buffer in the cache,
// and those of the other process into a buffer there, out of which its own side
// puts them in their places. Little data go through the ring as a whole.
const (
	directBlock = 4 << 10   // average length of remote segments from which they are written directly
	directLeast = 64 << 10  // and so much data: less does not fill the ring
	localBlock  = 1 << 10   // average length of local segments below which they are packed first
	bounceSize  = 128 << 10 // into pieces of this size
)

// direct is what copies between processes need, made on first use.
type direct struct {
	segs          []datatype.Segment
	local, remote []sys.Iovec
	bounce        []byte
}

// within reports whether a rank's memory is that of this process.
func (f *Fabric) within(to int) bool { return f.job.localRings != nil || to == f.me }

// aim finds the layout of the destination of a transfer and reports whether it
// can be written directly.
func (f *Fabric) aim(t *rdmaeng.Transfer) bool {
	switch {
	case t.Dst.Layout == layoutContiguous:
		t.Layout = nil
		return true
	case t.Dst.Layout == layoutUnknown:
		return false
	case f.job.localRings != nil:
		t.Layout = mem.Deref[datatype.Type](t.Dst.Layout)
	default:
		t.Layout = f.layoutOf(t.To, t.Dst.Layout)
	}
	return t.Layout != nil
}

// target is where a transfer goes, relative to its address.
func target(t *rdmaeng.Transfer) datatype.View {
	n := t.Size()
	if t.Layout == nil {
		return datatype.View{Count: n, Type: datatype.Byte}
	}
	each := t.Layout.Size()
	return datatype.View{Count: (n + each - 1) / each, Type: t.Layout}
}

// store copies the bytes of a transfer up to end, or some of them, and returns
// how many and whether it makes sense to go on in this way.
func (f *Fabric) store(t *rdmaeng.Transfer, end int) (int, bool) {
	gaps := t.View.Type != nil || t.Layout != nil
	addr := t.Dst.Addr + uint64(t.Done)
	if f.within(t.To) {
		if !gaps {
			return mem.Copy(mem.At(addr, end-t.Done), t.Src[t.Done:end]), true
		}
		dst := target(t)
		dst.Base = mem.Pointer(t.Dst.Addr)
		datatype.Copy(dst, t.Source(), t.Done, end)
		return end - t.Done, true
	}
	pid := int(f.job.control(t.To).pid.Load())
	var n int
	var err error
	switch {
	case !gaps:
		n, err = sys.VMWrite(pid, addr, t.Src[t.Done:end])
	case t.Layout == nil && t.View.Size() < localBlock*t.View.Blocks():
		d := &f.direct
		if d.bounce == nil {
			d.bounce = make([]byte, bounceSize)
		}
		piece := d.bounce[:min(len(d.bounce), end-t.Done)]
		t.View.Pack(piece, t.Done)
		n, err = sys.VMWrite(pid, addr, piece)
	default:
		n, err = f.direct.write(pid, t, end)
	}
	return n, err == nil && n > 0
}

// write copies as many segments as one system call takes.
func (d *direct) write(pid int, t *rdmaeng.Transfer, end int) (int, error) {
	if d.segs == nil {
		d.segs = make([]datatype.Segment, 0, sys.MaxIovecs)
		d.local, d.remote = make([]sys.Iovec, 0, sys.MaxIovecs), make([]sys.Iovec, 0, sys.MaxIovecs)
	}
	dst, src := target(t), t.Source()
	segs, end := dst.Segments(d.segs, t.Done, end)
	d.remote = iovecs(d.remote, t.Dst.Addr, segs)
	segs, _ = src.Segments(d.segs, t.Done, end)
	d.local = iovecs(d.local, mem.AddrOf(src.Base), segs)
	n, err := sys.VMWritev(pid, d.local, d.remote)
	runtime.KeepAlive(t)
	return n, err
}

func iovecs(out []sys.Iovec, base uint64, segs []datatype.Segment) []sys.Iovec {
	out = out[:0]
	for _, s := range segs {
		out = append(out, sys.Iovec{Addr: base + uint64(s.Off), Len: uint64(s.Len)})
	}
	return out
}
