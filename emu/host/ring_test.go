package host

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

func attachAll(t require.TestingT, n int) []*Fabric {
	j := NewLocalJob(n)
	fabs := make([]*Fabric, n)
	for i := range fabs {
		m, err := j.JoinLocal(i)
		require.NoError(t, err)
		fabs[i] = NewFabric(m, 0)
	}
	return fabs
}

// joined are the ranks of a job of two processes, which are both this one.
func joined(t require.TestingT) (j *Job, fabs [2]*Fabric) {
	j, err := NewJob(2)
	require.NoError(t, err)
	for i := range fabs {
		m, err := j.join(i, "")
		require.NoError(t, err)
		fabs[i] = NewFabric(m, 0)
	}
	return j, fabs
}

// Rings are bounded FIFOs of whole messages, whatever their sizes, and whatever has been
// told of one in the other.
func TestRingsAreBoundedFIFOs(t *testing.T) {
	j, shared := joined(t) // with belts
	defer j.Close()
	rapid.Check(t, func(t *rapid.T) {
		fabs := shared[:]
		if rapid.Bool().Draw(t, "within a process") {
			fabs = attachAll(t, 2)
		}
		for me := range fabs { // what is left of the last
			for _, _, ok := fabs[me].Next(); ok; _, _, ok = fabs[me].Next() {
				fabs[me].Release()
			}
		}
		type message struct {
			number int
			data   []byte
		}
		var model [2][]message // by the rank that they are from
		var current [2]bool    // has a message out
		sent := 0
		rank := rapid.IntRange(0, 1)
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				me := rank.Draw(t, "from")
				n := rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(0, DefaultLimit), rapid.Just(DefaultLimit), rapid.IntRange(cellInline, mostInFront+1)).Draw(t, "size")
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(sent + i)
				}
				h := packetizer.Header{uint64(sent) << 32, uint64(n), ^uint64(sent)}
				if fabs[me].TrySend(1-me, h, b) {
					model[me] = append(model[me], message{sent, b})
					sent++
				} else if len(model[me]) == 0 {
					t.Fatal("an empty ring refuses a message")
				}
			},
			"ask": func(t *rapid.T) { // for another form of each length
				me := rank.Draw(t, "of")
				for class := range across.Classes {
					fabs[me].job.ringOf(me, 1-me).head.gauge.Ask(class, across.Form(rapid.Uint32Range(0, 3).Draw(t, "form")))
				}
			},
			"wait": func(t *rapid.T) {
				me := rank.Draw(t, "who")
				if in := fabs[me].way(1 - me); in.unprepared() {
					in.prepare(&fabs[me].job.geo)
				}
			},
			"take out": func(t *rapid.T) {
				me := rank.Draw(t, "by")
				if current[me] {
					t.Skip("this rank has a message out")
				}
				h, b, ok := fabs[me].Next()
				waiting := model[1-me]
				require.Equal(t, len(waiting) > 0, ok)
				if current[me] = ok; !ok {
					return
				}
				require.Equal(t, waiting[0].data, append([]byte{}, b...))
				require.Equal(t, uint64(len(b)), h[1])
				require.Equal(t, uint64(waiting[0].number), h[0]>>32)
				waiting[0].data = b
			},
			"release": func(t *rapid.T) {
				me := rank.Draw(t, "by")
				if !current[me] {
					t.Skip("this rank has no message out")
				}
				m := model[1-me][0]
				for i, v := range m.data {
					if v != byte(m.number+i) {
						t.Fatalf("byte %d of message %d has been written over before it was released", i, m.number)
					}
				}
				model[1-me] = model[1-me][1:]
				fabs[me].Release()
				current[me] = false
			},
		})
	})
}

// Cold copies go around the belt, which is all but the front of the bulk space, and never beyond its end; who waits prepares where the next one goes.
func TestRingGoesAroundItsBelt(t *testing.T) {
	j, fabs := joined(t)
	defer j.Close()
	const size = 2500
	head, geo := j.ringOf(0, 1).head, &j.geo
	var most, prepared uint64
	onStage, hit := 0, 0
	ask := func() { // the peer would find out that another form is sooner
		for class := range across.Classes {
			head.gauge.Ask(class, across.Cold)
		}
	}
	for range 4000 {
		ask()
		require.True(t, fabs[0].TrySend(1, packetizer.Header{}, make([]byte, size)))
		end := head.bulkTail & (geo.bulk - 1)
		most = max(most, end)
		if end < across.Stage {
			onStage++
			require.Zero(t, end%bulkSize(size), "a message lies beyond the end of the bulk space")
		} else if end == prepared {
			hit++
		}
		_, _, ok := fabs[1].Next()
		require.True(t, ok)
		fabs[1].Release()
		in := fabs[0].way(1)
		if ask(); end >= across.Stage {
			require.Equal(t, head.gauge.Prepares(size), in.unprepared(), "but what will be timed")
		}
		if in.unprepared() {
			prepared = in.prepare(geo) & (geo.bulk - 1)
		}
	}
	require.Greater(t, hit, 4000*9/10)
	require.Greater(t, most, geo.bulk-2*size)
	require.Less(t, onStage, 4000/10, "other forms are tried now and then, and there is no room for a moment")
}

// Who reads a ring asks for a form, of messages and of records.
func TestWhoReadsARingAsks(t *testing.T) {
	for name, send := range map[string]func(f *Fabric, w rdmaeng.Window) bool{
		"messages": func(f *Fabric, _ rdmaeng.Window) bool { return f.TrySend(1, packetizer.Header{}, make([]byte, 4000)) },
		"records": func(f *Fabric, w rdmaeng.Window) bool {
			return f.record(f.job.ringOf(0, 1), &rdmaeng.Transfer{To: 1, Src: make([]byte, 4000), Dst: w}, depositRecord, 4000)
		},
	} {
		j, fabs := joined(t)
		_, w := fabs[1].Expose(make([]byte, 4000))
		for range 200 {
			require.True(t, send(fabs[0], w), name)
			if _, _, ok := fabs[1].Next(); ok {
				fabs[1].Release()
			}
		}
		require.NotZero(t, *(*uint32)(unsafe.Pointer(&j.ringOf(0, 1).head.gauge)), name)
		j.Close()
	}
}

// Ranks that answer each other use the front of their rings; who gets no answer goes on
// around the ring, and so does who sends long messages.
func TestRingBeginsAgain(t *testing.T) {
	for _, c := range []struct {
		size, answer int
		again        bool
	}{{300, 300, true}, {mostInFront, mostInFront, true}, {4000, 0, true}, {4000, shortPayload, true}, {4000, shortPayload + 1, false}, {mostInFront + 1, 0, false}, {4000, -1, false}} {
		fabs := attachAll(t, 2)
		receive := func(me, n int) {
			_, b, ok := fabs[me].Next()
			require.True(t, ok)
			require.Len(t, b, n)
			fabs[me].Release()
		}
		var most, last uint64
		for range 60 {
			require.True(t, fabs[0].TrySend(1, packetizer.Header{}, make([]byte, c.size)))
			end := fabs[0].job.ringOf(0, 1).head.bulkTail & (fabs[0].job.geo.bulk - 1)
			require.NotEqual(t, last, end, "the peer may be reading the last one")
			most, last = max(most, end), end
			receive(1, c.size)
			if c.answer >= 0 {
				require.True(t, fabs[1].TrySend(0, packetizer.Header{}, make([]byte, c.answer)))
				receive(0, c.answer)
			}
		}
		require.Equal(t, c.again, most <= mostInFront+bulkSize(c.size), c)
	}
}

// Behind a window of messages a ring goes on where it is, also if the answer tells that all has been read.
func TestAWindowGoesOn(t *testing.T) {
	const n = window/1024 + 1
	fabs := attachAll(t, 2)
	pass := func(from, size int) {
		require.True(t, fabs[from].TrySend(1-from, packetizer.Header{}, make([]byte, size)))
		_, _, ok := fabs[1-from].Next()
		require.True(t, ok)
		fabs[1-from].Release()
	}
	for range n {
		pass(0, 1024)
	}
	pass(1, 0)
	pass(0, 1024)
	require.EqualValues(t, (n+1)*1024, fabs[0].job.ringOf(0, 1).head.bulkTail)
}

// What has been told before the ring began again takes nothing back.
func TestOldNewsOfARing(t *testing.T) {
	fabs := attachAll(t, 2)
	pass := func(from int, n int) {
		require.True(t, fabs[from].TrySend(1-from, packetizer.Header{}, make([]byte, n)))
		_, _, ok := fabs[1-from].Next()
		require.True(t, ok)
		fabs[1-from].Release()
	}
	pass(0, 300)
	pass(1, 0) // tells of it
	require.True(t, fabs[0].TrySend(1, packetizer.Header{}, make([]byte, 300)))
	pass(1, 0) // tells of the first still
	require.True(t, fabs[0].TrySend(1, packetizer.Header{}, make([]byte, DefaultLimit)))
}

// Writes through the ring arrive whole, the notification once and after the
// data, and nothing arrives once the buffer is withdrawn.
func TestWritesThroughTheRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fabs := attachAll(t, 2)
		n := rapid.IntRange(0, 100_000).Draw(t, "size")
		withdrawAt := rapid.IntRange(0, 20).Draw(t, "withdraw after")
		src, dst := make([]byte, n), make([]byte, n)
		for i := range src {
			src[i] = byte(i%251 + 1)
		}
		slot, w := fabs[1].Expose(dst)
		tr := &rdmaeng.Transfer{To: 1, Src: src, Dst: w, Notify: rdmaeng.Notification{int32(n), 5, 0, 0}}
		fabs[0].Start(tr)
		if tr.Stage == stageCopy {
			tr.Stage = stageRing // what a refused attach leads to
		}
		done, withdrawn, notified := false, false, 0
		var after []byte
		for i := 0; i < 200; i++ {
			if !done {
				var err error
				done, err = fabs[0].Test(tr)
				require.NoError(t, err)
			}
			if i == withdrawAt && notified == 0 && withdrawAt > 10 {
				fabs[1].Withdraw(slot)
				withdrawn = true
				after = append([]byte{}, dst...)
			}
			_, _, ok := fabs[1].Next()
			require.False(t, ok)
			if s, note, ok := fabs[1].Notified(); ok {
				notified++
				require.Equal(t, slot, s)
				require.Equal(t, tr.Notify, note)
				require.Equal(t, src, dst)
			}
		}
		require.True(t, done)
		if withdrawn {
			require.Zero(t, notified)
			require.Equal(t, after, dst)
		} else {
			require.Equal(t, 1, notified)
		}
	})
}

func TestPhaseSurvivesItsWrapAround(t *testing.T) {
	fabs := attachAll(t, 2)
	// The phase is 16 bits of the lap: start just before it wraps.
	r := fabs[0].job.ringOf(0, 1)
	start := uint64(0xfffe) * localCells
	require.True(t, fabs[0].TrySend(1, packetizer.Header{}, nil)) // opens the ring
	_, _, ok := fabs[1].Next()
	require.True(t, ok)
	fabs[1].Release()
	r.head.tail, r.head.credit = start, start
	r.head.released.Store(start)
	r.head.cursor.head, r.head.cursor.returned = start, start
	for i := range uint64(localCells) {
		r.cell(&fabs[0].job.geo, i).header[0] = 0xfffe
	}
	var b [8]byte
	for i := range uint64(5 * localCells) {
		binary.LittleEndian.PutUint64(b[:], i)
		require.True(t, fabs[0].TrySend(1, packetizer.Header{}, b[:]))
		_, p, ok := fabs[1].Next()
		require.True(t, ok)
		require.Equal(t, i, binary.LittleEndian.Uint64(p))
		fabs[1].Release()
		_, _, ok = fabs[1].Next()
		require.False(t, ok)
	}
}
