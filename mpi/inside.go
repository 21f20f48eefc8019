package mpi

import "github.com/exanet-mpi/exanet/mpi/inside"

// init gives the rest of the module what is not for programs.
func init() {
	inside.MPI = &inside.Functions[Comm, Request, Message, Option]{
		WithJob:       withJob,
		WithRanks:     withRanks,
		WithOutside:   withOutside,
		Wake:          (*Comm).wake,
		OpenFastPath:  (*Comm).openFastPath,
		SharedArea:    (*Comm).sharedArea,
		Reserve:       (*Comm).reserve,
		WithPassed:    withPassed,
		WithLikely:    withLikely,
		WithSite:      withSite,
		MoreBuffer:    (*Comm).moreBuffer,
		Profile:       profile,
		CheckSettings: checkSettings,
		Sizes:         sizes,
		Over:          over,
		Primary:       primary,
	}
}
