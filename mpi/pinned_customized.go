//go:build customized

package mpi

import "github.com/exanet-mpi/exanet/variants/ticket"

type protocol = *ticket.Protocol

// DefaultVariant is the protocol of this build.
const DefaultVariant = "customized"

func newProtocol(o *settings, f fabric) (protocol, error) {
	return ticket.NewHybrid(f.Rank(), f, o.bands.Hybrid), nil
}
