package shm

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// word is a word that ranks share. All that the ranks of an area agree on goes through its methods.
type word uint64

// Load has acquire order.
func (w *word) Load() uint64 { return atomic.LoadUint64((*uint64)(w)) }

// Publish stores with release order: later loads may be performed before it.
func (w *word) Publish(v uint64) { mem.Publish((*uint64)(w), v) }

// Store publishes, with a fence before later loads.
func (w *word) Store(v uint64) { atomic.StoreUint64((*uint64)(w), v) }

// Add and CompareAndSwap are fences.
func (w *word) Add(d uint64) uint64 { return atomic.AddUint64((*uint64)(w), d) }

// CompareAndSwap reports whether the word was old, and is v now.
func (w *word) CompareAndSwap(old, v uint64) bool {
	return atomic.CompareAndSwapUint64((*uint64)(w), old, v)
}
