//go:build !race && (amd64 || arm64)

package mem

//go:noescape
func publish(p *uint64, v uint64)

// Publish stores v with release order and nothing more: earlier stores are
// visible before it, later loads may be performed before it. atomic.Store
// would add a full fence, which on amd64 costs more than the rest of a short
// message.
func Publish(p *uint64, v uint64) { publish(p, v) }
