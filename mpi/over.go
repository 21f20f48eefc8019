package mpi

import (
	"errors"

	"github.com/exanet-mpi/exanet/mpi/inside"
	"github.com/exanet-mpi/exanet/network"
	"github.com/exanet-mpi/exanet/variants"
)

// virtualRank is a rank of over (inside.Process).
type virtualRank struct {
	k    *rank
	main func(*Comm) error
}

// over is inside.Functions.Over.
func over(n int, end func(rank int) network.Fabric, main func(*Comm) error, opts ...Option) ([]inside.Process, error) {
	o, err := options(append([]Option{WithDevice(devicePrototype)}, opts...))
	if err != nil {
		return nil, err
	}
	if main == nil {
		return nil, initError(errors.New("there is no function for the ranks to run"), "")
	}
	ps := make([]inside.Process, n)
	for i := range ps {
		f := end(i)
		k, err := newRank(f, o)
		if err != nil {
			return nil, initError(err, "")
		}
		k.stats = nil // their times are not those of the fabric
		if k.Virtual != nil {
			k.Virtual.Meter(k.proto.Work())
		}
		ps[i] = &virtualRank{k, main}
	}
	return ps, nil
}

func (p *virtualRank) Run() error                   { return p.k.live(p.main) }
func (p *virtualRank) Counters() *variants.Counters { return p.k.proto.Counters() }
func (p *virtualRank) Waiting(f func(line string))  { p.k.proto.Waiting(f) }
