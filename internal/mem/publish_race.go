//go:build race

package mem

import "sync/atomic"

// Publish stores v with release order, in a form that the race detector sees.
func Publish(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
