//go:build rtr

package mpi

import "github.com/exanet-mpi/exanet/variants/rtr"

type protocol = *rtr.Protocol

// DefaultVariant is the protocol of this build.
const DefaultVariant = "rtr"

func newProtocol(_ *settings, f fabric) (protocol, error) { return rtr.New(f.Rank(), f), nil }
