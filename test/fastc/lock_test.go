//go:build linux && cgo

package fastc

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// A thread of a program that counts while Go does, by all ways in which Go takes the lock, some on the same thread.
// Each time two counts are added to, that must always be the same.
func TestLock(t *testing.T) {
	for name, c := range map[string]struct {
		many  bool
		calls int // threads that make calls
	}{"one thread": {false, 1}, "many threads": {true, 3}} {
		t.Run(name, func(t *testing.T) {
			const rounds, each = 50, 3000
			table := new(fastpath.Table)
			table.Lock.Open(c.many)
			var (
				rank    sync.Mutex
				counts  [2]uint64
				inGo    int
				differ  int // times
				pinned  runtime.Pinner
				callers sync.WaitGroup
				ended   = make(chan struct{})
			)
			pinned.Pin(table)
			pinned.Pin(&counts)
			defer pinned.Unpin()
			table.Lock.Leave()
			add := func() {
				if counts[0] != counts[1] {
					differ++
				}
				counts[0]++
				counts[1]++
				inGo++
			}
			for range c.calls {
				callers.Go(func() {
					runtime.LockOSThread() // so no other goroutine is ever on it, as none is on a program's
					for range rounds {
						assert.Zero(t, Of(table).Count(&counts, each))
						rank.Lock()
						table.Lock.Enter()
						add()
						table.Lock.Leave()
						if table.Lock.TryEnter() {
							add()
							table.Lock.Leave()
						} else {
							assert.True(t, c.many)
						}
						rank.Unlock()
					}
				})
			}
			go func() {
				callers.Wait()
				close(ended)
			}()
			for i := 0; ; i++ {
				select {
				case <-ended:
					assert.Equal(t, uint64(c.calls*rounds*each+inGo), counts[0])
					assert.Equal(t, counts[0], counts[1])
					assert.Zero(t, differ)
					return
				default:
				}
				rank.Lock()
				if i%2 == 0 {
					table.Lock.Enter()
					add()
					table.Lock.Leave()
				} else if table.Lock.TryEnter() {
					add()
					table.Lock.Leave()
				}
				rank.Unlock()
				for k := range i % 500 { // so that the one shuts at any moment of the other's
					runtime.KeepAlive(k)
				}
			}
		})
	}
}

// While a call is inside the lock stays open for who only tries, and is shut for calls that come after one that waits.
func TestLockInside(t *testing.T) {
	table := new(fastpath.Table)
	table.Lock.Open(false)
	path := Of(table)
	inside, leave, left := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		runtime.LockOSThread()
		inside <- path.Enter()
		table.Lock.Leave()
		inside <- path.Enter()
		<-leave
		path.Leave()
		left <- true
		inside <- path.Enter()
	}()
	require.False(t, <-inside, "the lock is shut")
	require.True(t, <-inside)
	require.False(t, table.Lock.TryEnter())
	entered := make(chan bool)
	go func() {
		table.Lock.Enter()
		entered <- true
	}()
	select {
	case <-entered:
		t.Fatal("two are inside")
	case <-time.After(50 * time.Millisecond):
	}
	leave <- true
	<-left
	require.True(t, <-entered)
	require.False(t, <-inside, "the lock is shut")
	table.Lock.Leave()
}

// Go and C know a thread by the same number, and no two by the same.
func TestThread(t *testing.T) {
	threads := make(chan uint64)
	for range 2 {
		go func() {
			runtime.LockOSThread()
			assert.Equal(t, Thread(), mem.Thread())
			threads <- mem.Thread()
			select {}
		}()
	}
	require.NotEqual(t, <-threads, <-threads)
}
