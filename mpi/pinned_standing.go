//go:build standing

package mpi

import "github.com/exanet-mpi/exanet/variants/ticket"

type protocol = *ticket.Protocol

// DefaultVariant is the protocol of this build.
const DefaultVariant = "standing"

func newProtocol(o *settings, f fabric) (protocol, error) {
	return ticket.NewStanding(f.Rank(), f, stands(f), o.standsAfter()), nil
}
