//go:build cgo

package mpi

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/lanec"
	"github.com/exanet-mpi/exanet/internal/work"
	"github.com/exanet-mpi/exanet/variants/express"
)

// While a call on the express lane has the gate, who takes the lock behind it has nothing
// that others want, and comes when the gate is open.
func TestLockBehind(t *testing.T) {
	table := new(express.Table)
	call := lanec.Of(table)
	synctest.Test(t, func(t *testing.T) {
		l := rankLock{x: &Express{table: table}, work: new(work.Count)}
		runtime.LockOSThread() // the call's, on which nothing else runs
		defer runtime.UnlockOSThread()
		require.True(t, call.Enter())
		var behind sync.WaitGroup
		behind.Go(l.LockBehind)
		for range 20 {
			synctest.Wait()
			require.True(t, l.Mutex.TryLock())
			require.Zero(t, l.work.Locks)
			l.Mutex.Unlock()
			time.Sleep(hesitation)
		}
		synctest.Wait()
		call.Leave()
		behind.Wait()
		require.Equal(t, 1, int(l.work.Locks))
		require.False(t, call.Enter())
		require.False(t, l.Mutex.TryLock())
	})
}
