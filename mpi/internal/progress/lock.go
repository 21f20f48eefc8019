package progress

import (
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/internal/workcount"
)

// Lock is a rank's lock. It includes the gate of code outside of Go that makes calls of
// the rank as well, where there is such.
type Lock struct {
	sync.Mutex
	Gate Gate // nil: there is none. It is set with the lock held
	Work *workcount.Count
}

// Gate keeps code outside of Go away from what the lock guards.
type Gate interface {
	// Enter shuts the gate, and tells the protocol what such code has done meanwhile.
	// TryEnter does so unless a call is within.
	Enter()
	TryEnter() bool
	Leave()
}

// Lock takes the lock, and the gate.
func (l *Lock) Lock() {
	l.Mutex.Lock()
	l.Work.Locks++
	if l.Gate != nil {
		l.Gate.Enter()
	}
}

// Unlock gives both back.
func (l *Lock) Unlock() {
	if l.Gate != nil {
		l.Gate.Leave()
	}
	l.Mutex.Unlock()
}

// lockBehind is Lock for who need not hurry as long as calls of the rank have the lock, or
// come one after the other: it would wait for them on a core that they need.
func (l *Lock) lockBehind() {
	const tries = 50
	for range tries {
		if l.Mutex.TryLock() {
			if l.Gate == nil || l.Gate.TryEnter() {
				l.Work.Locks++
				return
			}
			l.Mutex.Unlock()
		}
		time.Sleep(hesitation)
	}
	l.Lock()
}

// held reports whether a call has the lock.
func (l *Lock) held() bool {
	if !l.Mutex.TryLock() {
		return true
	}
	l.Mutex.Unlock()
	return false
}
