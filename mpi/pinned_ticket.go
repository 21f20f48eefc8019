//go:build ticket

package mpi

import "github.com/exanet-mpi/exanet/variants/ticket"

type protocol = *ticket.Protocol

// DefaultVariant is the protocol of this build.
const DefaultVariant = "ticket"

func newProtocol(_ *settings, f fabric) (protocol, error) { return ticket.New(f.Rank(), f), nil }
