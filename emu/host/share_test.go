package host

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

func filled(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((i+seed)%251 + 1)
	}
	return b
}

// Several copies between two ranks in both directions, in any order of the steps of
// the two ends: each arrives whole, is notified once and after the data, and its
// writer learns of it. Some ends cannot copy what they have taken, alone or with others.
func TestSharedCopies(t *testing.T) {
	type transfer struct {
		*rdmaeng.Transfer
		from, slot     int
		dst            []byte
		done, notified bool
		lent           bool // and not started
		nowhere        bool // its writer fails
		borrow         func()
	}
	rapid.Check(t, func(t *rapid.T) {
		fabs := attachAll(t, 2)
		j, both := joined(t)
		defer func() { require.NoError(t, j.Close()) }()
		apart := rapid.Bool().Draw(t, "apart") && both[0].Reaches(1)
		if apart {
			fabs = both[:]
		}
		n := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(6, 20)).Draw(t, "transfers")
		all := make([]*transfer, n)
		for i := range all {
			size := rapid.IntRange(DefaultLimit+1, 300_000).Draw(t, "size")
			from := rapid.IntRange(0, 1).Draw(t, "from")
			x := &transfer{from: from, dst: make([]byte, size)}
			slot, w := fabs[1-from].Expose(x.dst)
			if x.nowhere = apart && rapid.IntRange(0, 5).Draw(t, "nowhere") == 0; x.nowhere {
				w.Addr = 8 // where no memory is
			}
			x.slot = slot
			x.Transfer = &rdmaeng.Transfer{To: 1 - from, Src: filled(size, i), Dst: w,
				Notify: rdmaeng.Notification{int32(size), int32(i), 0, 0}}
			all[i] = x
			if x.lent = rapid.Bool().Draw(t, "lent"); !x.lent {
				fabs[from].Start(x.Transfer)
				require.True(t, x.Shared)
				continue
			}
			x.Dst = rdmaeng.Window{}
			src, ok := fabs[from].Lend(x.Transfer)
			require.True(t, ok)
			x.borrow = func() { require.True(t, fabs[1-from].Borrow(slot, from, src, size, x.Notify)) }
			x.Dst = w
		}
		left := 2 * n
		for step := 0; left > 0 && step < 10_000; step++ {
			me := rapid.IntRange(0, 1).Draw(t, "rank")
			f := fabs[me]
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0: // the other end is told that what was taken has not been copied
				x := all[rapid.IntRange(0, n-1).Draw(t, "transfer")]
				if x.Shared && !x.lent && !x.nowhere && step%8 == 0 {
					fabs[x.from].job.ringOf(x.from, x.To).head.claim(int(x.Slot)).giveUp(x.Share)
				}
			case 1, 2, 3:
				x := all[rapid.IntRange(0, n-1).Draw(t, "transfer")]
				switch {
				case x.from != me && x.borrow != nil && !x.notified:
					x.borrow()
					x.borrow = nil
				case x.from == me && x.lent: // after a CTS, or an RTR that crossed the RTS
					f.Start(x.Transfer)
					require.True(t, x.Shared)
					x.lent = false
				case x.from == me && !x.lent && !x.done:
					done, err := f.Test(x.Transfer)
					require.NoError(t, err)
					if x.done = done; done {
						left--
						clear(x.Src) // the program may use it again
					}
				}
			default:
				_, _, ok := f.Next()
				require.False(t, ok)
				f.Carry()
				for {
					slot, note, ok := f.Notified()
					if !ok {
						break
					}
					x := all[note[1]]
					require.False(t, x.notified)
					require.Equal(t, slot, x.slot)
					require.Equal(t, x.Notify, note)
					require.True(t, bytes.Equal(filled(len(x.dst), int(note[1])), x.dst), "transfer %d is not whole",
						note[1])
					x.notified = true
					f.Withdraw(slot)
					clear(x.dst)
					left--
				}
			}
		}
		require.Zero(t, left)
		for _, x := range all { // nothing is written after the end
			require.Zero(t, bytes.Count(x.dst, []byte{1})+bytes.Count(x.dst, []byte{7}))
		}
		for _, f := range fabs {
			require.Zero(t, f.job.ringOf(f.me, 1-f.me).head.claimed)
			f.Carry() // which leaves copies to others if this end has just written
			f.Carry()
			require.Empty(t, f.shares)
		}
	})
}

// A write gets through although sources that are lent, whose receives may come after its own, have all claims.
func TestAWriteBehindLentSources(t *testing.T) {
	fabs := attachAll(t, 2)
	const size = DefaultLimit + 1
	for i := range shareSlots {
		_, ok := fabs[0].Lend(&rdmaeng.Transfer{To: 1, Src: filled(size, i)})
		require.True(t, ok)
	}
	to := make([]byte, size)
	slot, w := fabs[1].Expose(to)
	x := &rdmaeng.Transfer{To: 1, Src: filled(size, 1), Dst: w}
	fabs[0].Start(x)
	for done, notified := false, false; !done || !notified; {
		if !done {
			var err error
			done, err = fabs[0].Test(x)
			require.NoError(t, err)
		}
		_, _, _ = fabs[1].Next()
		if i, _, ok := fabs[1].Notified(); ok {
			require.Equal(t, slot, i)
			notified = true
		}
		require.False(t, x.Stage == stageOffer, "it waits for those that are lent")
	}
	require.True(t, bytes.Equal(x.Src, to))
}

// More copies than there are claims, and than a ring has cells.
func TestMoreCopiesThanClaims(t *testing.T) {
	fabs := attachAll(t, 2)
	const n, size = shareSlots + 3, DefaultLimit + 1
	var all []*rdmaeng.Transfer
	for i := range n {
		_, w := fabs[1].Expose(make([]byte, size))
		x := &rdmaeng.Transfer{To: 1, Src: filled(size, i), Dst: w}
		fabs[0].Start(x)
		all = append(all, x)
	}
	over, notified := 0, 0
	for round := 0; over < n || notified < n; round++ {
		require.Less(t, round, 100*n, "%d copies are over", over)
		all = slices.DeleteFunc(all, func(x *rdmaeng.Transfer) bool {
			done, err := fabs[0].Test(x)
			require.NoError(t, err)
			return done
		})
		over = n - len(all)
		_, _, _ = fabs[1].Next()
		fabs[1].Carry()
		for ok := true; ok; {
			if _, _, ok = fabs[1].Notified(); ok {
				notified++
			}
		}
	}
}

// An end is stopped or killed with units taken. The test binary starts itself as rank
// 1; rank 0 is in the test process. Both expose a buffer and tell the other of it.

const (
	sharerRole = "EXANET_TEST_SHARER" // a signal, and which end rank 1 is
	sharedSize = 8 << 20              // more than a ring takes
)

func (f *Fabric) tell(to int, w rdmaeng.Window) {
	f.TrySend(to, packetizer.Header{0, w.Addr, w.Notify}, nil)
}

func (f *Fabric) told() rdmaeng.Window {
	for {
		if h, _, ok := f.Next(); ok {
			f.Release()
			return rdmaeng.Window{Addr: h[1], Notify: h[2]}
		}
	}
}

func sharedTransfer(to int, w rdmaeng.Window) *rdmaeng.Transfer {
	return &rdmaeng.Transfer{To: to, Src: filled(sharedSize, to), Dst: w,
		Notify: rdmaeng.Notification{sharedSize, 0, 0, 0}}
}

// giveUp is what an attach that is refused leads to.
func (f *Fabric) giveUp(t *rdmaeng.Transfer) {
	f.job.ringOf(f.me, t.To).head.claim(int(t.Slot)).giveUp(t.Share)
}

// hear is Next, but leaves what is offered to its writer.
func (f *Fabric) hear() {
	for i := range f.in {
		if c, _, ok := f.in[i].peek(&f.job.geo); ok {
			f.carryOut(f.in[i], c)
			f.advance(f.in[i])
		}
	}
}

// stopWithUnits is rank 1: it takes units, stops there, and goes on after SIGCONT.
func stopWithUnits(role string) {
	number, end, _ := strings.Cut(role, " ")
	sig, err := strconv.Atoi(number)
	if err != nil {
		os.Exit(2)
	}
	f := NewFabric(joinAs(1), 0)
	dst := make([]byte, sharedSize)
	_, w := f.Expose(dst)
	f.tell(0, w)
	w = f.told()
	unit, units := unitOf(sharedSize)
	if end == "writer" {
		t := sharedTransfer(0, w)
		f.Start(t)
		c := f.job.ringOf(1, 0).head.claim(int(t.Slot))
		first, n := c.take(t.Share, units, 3, false)
		stopHere(sig)
		f.write(0, t.Dst.Addr+uint64(first*unit), t.Src[first*unit:(first+n)*unit])
		if c.finish(t.Share, units, n) {
			f.retract(t)
			t.Stage = stageNotify
		}
		for done := false; !done; {
			done, _ = f.Test(t)
		}
		return
	}
	for len(f.shares) == 0 {
		f.hear()
	}
	s := f.shares[0]
	first, n := s.claim.take(s.gen, units, 3, true)
	stopHere(sig)
	f.Read(0, s.addr+uint64(first*unit), dst[first*unit:min((first+n)*unit, sharedSize)])
	s.claim.finish(s.gen, units, n)
	for !bytes.Equal(dst, filled(sharedSize, 1)) {
		_, _, _ = f.Next()
		f.Carry()
	}
	f.tell(0, w)
}

func TestAnEndStoppedWithUnitsTaken(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, end := range []string{"writer", "reader"} {
			t.Run(unix.SignalName(sig)+" "+end, func(t *testing.T) {
				j, err := NewJob(2)
				require.NoError(t, err)
				m, err := j.join(0, "")
				require.NoError(t, err)
				f := NewFabric(m, 0)
				dst := make([]byte, sharedSize)
				slot, mine := f.Expose(dst)
				cmd := another(t, j, sharerRole, strconv.Itoa(int(sig))+" "+end)
				require.NoError(t, cmd.Start())
				defer func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				}()
				theirs := f.told()
				if !f.Reaches(1) {
					t.Skip("cross-memory attach to a child is refused here")
				}
				out := sharedTransfer(1, theirs)
				f.tell(1, mine)
				if end == "reader" {
					f.Start(out)
					require.True(t, out.Shared)
				}
				var info unix.Siginfo
				// WNOWAIT leaves a killed process for the deferred Wait.
				require.NoError(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, &info,
					unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil))

				// This end does what is left, and waits for the rest.
				work := func() (over bool, err error) {
					if end == "reader" {
						return f.Test(out)
					}
					_, _, _ = f.Next()
					f.Carry()
					i, _, ok := f.Notified()
					if ok {
						require.Equal(t, slot, i)
					}
					return ok, nil
				}
				for range 100 {
					over, err := work()
					require.NoError(t, err)
					require.False(t, over, "there is a hole")
				}
				unit, _ := unitOf(sharedSize)
				if end == "writer" && sig == unix.SIGSTOP { // whose memory is still there
					require.True(t, bytes.Equal(filled(sharedSize, 0)[3*unit:], dst[3*unit:]))
				}
				if sig == unix.SIGSTOP {
					require.NoError(t, cmd.Process.Signal(unix.SIGCONT))
					for over := false; !over; {
						over, err = work()
						require.NoError(t, err)
					}
					if end == "writer" {
						require.True(t, bytes.Equal(filled(sharedSize, 0), dst))
					} else {
						f.told() // all has arrived
					}
					return
				}
				j.MarkDead(1)
				over, err := work()
				if end == "reader" {
					require.True(t, over)
					require.ErrorIs(t, err, rdmaeng.ErrPeer)
					require.Zero(t, f.job.ringOf(0, 1).head.claimed)
					return
				}
				require.False(t, over)
				f.Withdraw(slot) // what the protocol does
				before := bytes.Clone(dst)
				for range 100 {
					_, _, ok := f.Next()
					require.False(t, ok)
					f.Carry()
				}
				require.True(t, bytes.Equal(before, dst))
				require.Empty(t, f.shares)
			})
		}
	}
}

// stopHere sends a signal to this very thread, which then does not return from the
// call.
func stopHere(sig int) {
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.Signal(sig))
}
