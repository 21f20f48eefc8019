package host

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Rank 0, the test, and two processes that do the same, with their buffers at the same
// addresses: to copy to the wrong one of them, or from it, is no error that the kernel sees.

const (
	batcherRole = "EXANET_TEST_BATCHER" // the rank of such a process
	batchCopies = 6                     // each way, to and from each
	batchSpace  = 2 << 20
	batchAt     = 0x600000000000 // where the processes have their buffers
)

func batchSize(i int) int { return shareLeast + 10_000*i }

// exchange is what one end has to do with one other.
type exchange struct {
	f        *Fabric
	memory   []byte // for buffers
	peer     int
	slots    map[int]int // index of a buffer by its slot
	in       [][]byte
	out      []*rdmaeng.Transfer
	sent     int
	received int
}

func (x *exchange) buffer(i int) []byte {
	n := batchSize(i)
	buf := x.memory[:n:n]
	x.memory = x.memory[n:]
	return buf
}

// expose tells the other end of batchCopies buffers.
func (x *exchange) expose() {
	x.slots = make(map[int]int)
	for i := range batchCopies {
		buf := x.buffer(i)
		slot, w := x.f.Expose(buf)
		x.slots[slot], x.in = i, append(x.in, buf)
		x.f.tell(x.peer, w)
	}
}

// start writes to buffer i of the other end. The seed tells whose data they are.
func (x *exchange) start(i int, w rdmaeng.Window, seed int) {
	n := batchSize(i)
	src := x.buffer(i)
	copy(src, filled(n, seed+i))
	t := &rdmaeng.Transfer{To: x.peer, Src: src, Dst: w, Notify: rdmaeng.Notification{int32(n), int32(i), 0, 0}}
	x.f.Start(t)
	x.out = append(x.out, t)
}

func (x *exchange) write() {
	kept := x.out[:0]
	for _, t := range x.out {
		if done, _ := x.f.Test(t); done { // or the other end is dead
			x.sent++
		} else {
			kept = append(kept, t)
		}
	}
	x.out = kept
}

func (x *exchange) over() bool { return x.sent == batchCopies && x.received == batchCopies }

// hear is Next, but leaves what is offered to its writer.
func (f *Fabric) hear() {
	for i := range f.in {
		if c, _, ok := f.in[i].peek(&f.job.geo); ok {
			f.carryOut(f.in[i], c)
			f.advance(f.in[i])
		}
	}
}

func (f *Fabric) toldOf(n int) (ws []rdmaeng.Window) {
	for range n {
		ws = append(ws, f.told())
	}
	return ws
}

// exchangeBatches is rank 1 or 2. It leaves all copies to rank 0.
func exchangeBatches(role string) {
	rank := rankOf(role)
	m := joinAs(rank)
	memory, err := unix.MmapPtr(-1, 0, mem.Pointer(batchAt), batchSpace, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE)
	if err != nil {
		os.Exit(5)
	}
	x := &exchange{f: NewFabric(m, 0), peer: 0, memory: unsafe.Slice((*byte)(memory), batchSpace)}
	x.expose()
	for i, w := range x.f.toldOf(batchCopies) {
		x.start(i, w, 20*rank)
	}
	for !x.over() {
		if x.received == batchCopies {
			x.write()
		}
		x.f.hear()
		if slot, _, ok := x.f.Notified(); ok {
			i := x.slots[slot]
			if !bytes.Equal(x.in[i], filled(batchSize(i), 20*rank+100+i)) {
				os.Exit(4)
			}
			x.received++
		}
	}
}

func TestBatchesOfSeveralRanks(t *testing.T) {
	j, err := NewJob(3)
	require.NoError(t, err)
	m, err := j.join(0, "")
	require.NoError(t, err)
	f := NewFabric(m, 0)
	var ends [2]exchange
	var windows [2][]rdmaeng.Window
	var ended [2]chan error
	for i := range ends {
		rank := i + 1
		cmd := another(t, j, batcherRole, strconv.Itoa(rank))
		require.NoError(t, cmd.Start())
		defer func() { _ = cmd.Process.Kill() }()
		ended[i] = make(chan error, 1)
		go func() {
			err := cmd.Wait()
			if err != nil {
				j.MarkDead(rank)
			}
			ended[i] <- err
		}()
		ends[i] = exchange{f: f, peer: rank, memory: make([]byte, batchSpace)}
		windows[i] = f.toldOf(batchCopies)
		if !f.Reaches(rank) {
			t.Skip("cross-memory attach to a child is refused here")
		}
	}
	for i := range ends {
		ends[i].expose()
	}
	for begun := time.Now(); len(f.shares) < len(ends)*batchCopies; {
		require.Less(t, time.Since(begun), time.Minute, "%d copies have been offered", len(f.shares))
		f.hear()
	}
	for at := range batchCopies {
		for i := range ends {
			ends[i].start(at, windows[i][at], 20*(i+1)+100)
		}
	}
	for begun := time.Now(); !ends[0].over() || !ends[1].over(); {
		require.False(t, j.Dead(1) || j.Dead(2), "a process has received something else")
		require.Less(t, time.Since(begun), time.Minute, "sent %d, %d, received %d, %d", ends[0].sent, ends[1].sent,
			ends[0].received, ends[1].received)
		if ends[0].received+ends[1].received < 2*batchCopies {
			_, _, _ = f.Next()
		} else {
			ends[0].write()
			ends[1].write()
		}
		slot, _, ok := f.Notified()
		if !ok {
			continue
		}
		for i := range ends {
			if at, mine := ends[i].slots[slot]; mine {
				require.True(t, bytes.Equal(filled(batchSize(at), 20*(i+1)+at), ends[i].in[at]), "rank %d, buffer %d",
					i+1, at)
				ends[i].received++
			}
		}
	}
	for i := range ended {
		require.NoError(t, <-ended[i], "rank %d has received something else", i+1)
	}
}
