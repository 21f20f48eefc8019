//go:build readbased

package mpi

import "github.com/exanet-mpi/exanet/variants/readbased"

type protocol = *readbased.Protocol

// DefaultVariant is the protocol of this build.
const DefaultVariant = "readbased"

func newProtocol(o *settings, f fabric) (protocol, error) {
	r, err := withAgents(f, o)
	if err != nil {
		return nil, err
	}
	return readbased.New(f.Rank(), r), nil
}
