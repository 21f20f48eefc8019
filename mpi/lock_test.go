package mpi

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/effort"
	"github.com/exanet-mpi/exanet/variants/express"
)

// While a call on the express lane has the gate, who takes the lock behind it has nothing
// that others want, and comes when the gate is open.
func TestLockBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rankLock{x: &Express{table: new(express.Table)}, work: new(effort.Done)}
		require.True(t, l.x.table.TryEnter())
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
		l.x.table.Leave()
		behind.Wait()
		require.Equal(t, 1, int(l.work.Locks))
		require.False(t, l.x.table.TryEnter())
		require.False(t, l.Mutex.TryLock())
	})
}
