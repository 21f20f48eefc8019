//go:build envless

package mpi

import (
	"github.com/exanet-mpi/exanet/variants/envless"
	"github.com/exanet-mpi/exanet/variants/rtr"
)

type protocol = *rtr.Protocol

// DefaultVariant is the protocol of this build.
const DefaultVariant = "envless"

func newProtocol(o *settings, f fabric) (protocol, error) {
	return envless.New(f.Rank(), f, o.level == ThreadMultiple), nil
}
