//go:build race || !(amd64 || arm64)

package mem

import "sync/atomic"

// Publish stores v with release order, in a form that the race detector sees and every processor has.
func Publish(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
