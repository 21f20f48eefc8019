//go:build readbased || rtr || envless || ticket || optimistic || customized || standing

package mpi

// A build tag with the name of a protocol pins it: the files pinned_*.go make
// protocol that protocol's type, so that calls of it are direct and can be
// inlined. Two such tags do not compile (variants/pins.go).

// protocolTag is the build tag that has left only one of the protocols.
const protocolTag = DefaultVariant

// Variants returns the name of the protocol of this build.
func Variants() []string { return []string{DefaultVariant} }
