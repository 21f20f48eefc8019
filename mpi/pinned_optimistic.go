//go:build optimistic

package mpi

import "github.com/exanet-mpi/exanet/optimistic"

type protocol = *optimistic.Protocol

// DefaultVariant is the protocol of this build.
const DefaultVariant = "optimistic"

func newProtocol(_ *settings, f fabric) (protocol, error) { return optimistic.New(f.Rank(), f), nil }
