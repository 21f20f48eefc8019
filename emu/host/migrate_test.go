package host

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// as does something again and again as a rank on one core, until it is stopped.
func as(t *testing.T, f *Fabric, core uint32, something func()) (stop func()) {
	var over atomic.Bool
	bound, ended := make(chan error), make(chan bool)
	go func() {
		defer close(ended)
		runtime.LockOSThread() // for good: the thread ends with its mask
		var mask unix.CPUSet
		mask.Set(int(core) - 1)
		f.self.thread.Store(uint32(sys.Thread()))
		bound <- unix.SchedSetaffinity(0, &mask)
		for !over.Load() {
			something()
		}
	}()
	stop = func() {
		over.Store(true)
		<-ended
	}
	t.Cleanup(stop)
	require.NoError(t, <-bound)
	return stop
}

// A rank that shares a core with another one that is ready to run moves to one where
// none is, once in a while; one that does not stays where it is.
func TestSpread(t *testing.T) {
	free := ownCPUs()
	if free.count() < 2 {
		t.Skip("this process may run on one core only, by its affinity mask")
	}
	_, fabs := joined(t)
	looks := func() bool {
		fabs[0].lookedAt = time.Time{}
		return fabs[0].migrate()
	}
	core := free.first()
	free.remove(core)
	stop := as(t, fabs[1], core, func() {})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	moved, back := false, 0
	for try := 0; try < 1000 && !moved; try++ { // the kernel may part them first
		require.NoError(t, sys.MoveTo(core))
		if looks() {
			if moved = sys.Core() != core; !moved {
				back++ // the kernel may bring it back, but not again and again
			}
			require.Less(t, back, 10)
			fabs[0].lookedAt = time.Now().Add(time.Hour)
			require.NoError(t, sys.MoveTo(core))
			require.False(t, fabs[0].migrate(), "it has just looked")
		}
	}
	require.True(t, moved)
	for range 1000 { // the kernel may move it there
		require.NoError(t, sys.MoveTo(free.first()))
		if moved = looks(); !moved {
			break
		}
	}
	require.False(t, moved, "nobody else is on this core")
	stop()
	fabs[1].self.thread.Store(1 << 30)
	require.False(t, looks(), "there is no such thread")
}

// A rank that shares its core with another one, and gets what it waits for by yielding to that, moves, too.
func TestWhoYieldsToAPeerMovesAway(t *testing.T) {
	free := ownCPUs()
	if free.count() < 2 {
		t.Skip("sched_getaffinity (ownCPUs) lets this process run on one core only, and it takes two")
	}
	_, fabs := joined(t)
	core := free.first()
	var waits atomic.Bool
	as(t, fabs[1], core, func() { // it rings when it gets to run
		if waits.CompareAndSwap(true, false) {
			fabs[0].self.foreground.Add(1)
		}
		sys.Yield()
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	moved := false
	for try := 0; try < 1000 && !moved; try++ { // the kernel may part them first, and the other run before the yield
		require.NoError(t, sys.MoveTo(core))
		fabs[0].lookedAt, fabs[0].backOffUntil = time.Time{}, 0
		mark := fabs[0].Mark()
		waits.Store(true)
		fabs[0].spin(mark) // in vain, if other programs keep the core for longer
		moved = !fabs[0].lookedAt.IsZero() && sys.Core() != core
	}
	require.True(t, moved)
}

// A rank that waits moves to a core that has fewer ranks by two, if it is the last on its own.
func TestEven(t *testing.T) {
	all := ownCPUs()
	if all.count() < 2 {
		t.Skip("sched_getaffinity (ownCPUs) lets this process run on one core only, and it takes two")
	}
	here := all.first()
	all.remove(here)
	there := all.first()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, x := range map[string]struct {
		me    int
		ranks []uint32 // where they ran
		moves bool
	}{
		"the last of three":       {3, []uint32{here, there, here, here}, true},
		"the last of two":         {3, []uint32{here, there, there, here}, false},
		"not the last":            {2, []uint32{here, there, here, here}, false},
		"all":                     {3, []uint32{here, here, here, here}, true},
		"there are more already":  {3, []uint32{there, there, there, here}, false},
		"some have not told yet":  {3, []uint32{here, 0, here, here}, true},
		"as even as it can be":    {4, []uint32{there, there, here, here, here}, false},
		"the last of four of six": {5, []uint32{there, there, here, here, here, here}, true},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := NewJob(len(x.ranks))
			require.NoError(t, err)
			m, err := j.join(x.me, "")
			require.NoError(t, err)
			f := NewFabric(m, 0)
			f.sharers, f.cores = len(x.ranks), 2
			require.Equal(t, (len(x.ranks)+1)/2, f.PerCore())
			for i, core := range x.ranks {
				f.job.control(i).core.Store(core)
			}
			moved := !x.moves
			for try := 0; moved != x.moves && try < 1000; try++ { // the kernel may move the thread as well
				require.NoError(t, sys.MoveTo(here))
				f.lookedAt = time.Time{}
				f.balance()
				moved = sys.Core() != here
				require.Equal(t, sys.Core(), f.self.core.Load())
			}
			require.Equal(t, x.moves, moved)
			f.lookedAt = time.Now().Add(time.Hour)
			f.self.core.Store(0)
			f.balance()
			require.Zero(t, f.self.core.Load(), "it has just looked")
		})
	}
}
