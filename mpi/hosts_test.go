package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/mpi/inside"
	"github.com/exanet-mpi/exanet/network"
)

// Ranks of this process on several hosts: those of one share rings, the others are connected.

var within = inside.MPI.(*inside.Functions[mpi.Comm, mpi.Request, mpi.Message, mpi.Option])

// hostEnds makes the ends of ranks on hosts, of which the number of each rank's is given.
func hostEnds(t *testing.T, hosts []int) []network.Fabric {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, secret := len(hosts), net.NewSecret()
	listeners, cards := make([]*net.Listener, n), make([][]byte, n)
	jobs := make(map[int]*host.Job)
	for rank, h := range hosts {
		l, err := net.Listen("127.0.0.1")
		require.NoError(t, err)
		listeners[rank], cards[rank] = l, l.Card("", slices.Index(hosts, h))
		if jobs[h] == nil {
			jobs[h] = host.NewLocalJob(n)
			for other := range hosts {
				if hosts[other] != h {
					jobs[h].Elsewhere(other)
				}
			}
		}
	}
	ends, errs := make([]network.Fabric, n), make([]error, n)
	var wg sync.WaitGroup
	for rank, h := range hosts {
		wg.Go(func() {
			others := slices.Clone(cards)
			for other := range others {
				if other != rank && hosts[other] == h {
					others[other] = nil
				}
			}
			m, err := jobs[h].JoinLocal(rank)
			p := net.Peers{Listener: listeners[rank], Secret: secret, Cards: others}
			conns, connected := p.Connect(ctx, rank)
			if err = errors.Join(err, connected); err == nil {
				ends[rank], err = net.NewFabric(host.NewFabric(m, 0), conns, 0)
			}
			errs[rank] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	return ends
}

// onHosts runs main as such ranks.
func onHosts(t *testing.T, hosts []int, main func(c *mpi.Comm) error, options ...mpi.Option) error {
	t.Helper()
	ends := hostEnds(t, hosts)
	ranks, err := within.Over(len(hosts), func(rank int) network.Fabric { return ends[rank] }, main,
		append(options, mpi.WithDevice("network"))...)
	require.NoError(t, err)
	errs := make([]error, len(ranks))
	var wg sync.WaitGroup
	for i, r := range ranks {
		wg.Go(func() { errs[i] = r.Run() })
	}
	wg.Wait()
	return within.Primary(errs)
}

var divisions = [][]int{{0, 0, 1, 1, 1}, {0, 1, 0, 1, 1}, {2, 1, 1, 0}}

// All collectives, with leaders and without, also of communicators whose ranks are in another order.
func TestCollectivesOnHosts(t *testing.T) {
	sizes := []int{0, 1, 300, 1 << 14}
	if testing.Short() {
		sizes = []int{0, 600}
	}
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			for _, hosts := range divisions {
				require.NoError(t, onHosts(t, hosts, func(world *mpi.Comm) error {
					back, err := world.Split(0, -world.Rank())
					if err != nil {
						return err
					}
					for _, c := range []*mpi.Comm{world, back} {
						for root := range c.Size() {
							for _, n := range sizes {
								for _, k := range collectives(c, n, root, root%2 == 1) {
									if err := k.perform(); err != nil {
										return fmt.Errorf("hosts %v, root %d, %d elements: %w", hosts, root, n, err)
									}
								}
							}
						}
					}
					return back.Free()
				}, mpi.WithVariant(variant)))
			}
		})
	}
}

// Who shares a host is known in every communicator: in a barrier a rank that leads nobody hears from its leader alone.
func TestHostsOfCommunicators(t *testing.T) {
	for _, hosts := range divisions {
		require.NoError(t, onHosts(t, hosts, func(world *mpi.Comm) error {
			mine := hosts[world.Rank()]
			s, err := world.SplitType(mpi.SplitShared, 0)
			if err != nil {
				return err
			}
			near := slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return h != mine })
			require.Equal(t, len(near), s.Size())
			dup, err := world.Dup()
			if err != nil {
				return err
			}
			idup, q, err := world.Idup()
			if err == nil {
				_, err = q.Wait()
			}
			if err != nil {
				return err
			}
			for _, c := range []*mpi.Comm{world, dup, idup} {
				before := c.Counters()["receives"]
				if err := c.Barrier(); err != nil {
					return err
				}
				if s.Rank() > 0 {
					require.EqualValues(t, 1, c.Counters()["receives"]-before)
				}
			}
			return errors.Join(s.Free(), dup.Free(), idup.Free())
		}))
	}
}

// Calls that need a rank of another host say why it is dead, also if they do not name it.
func TestHostsSayWhyARankIsDead(t *testing.T) {
	gone := errors.New("gone")
	require.ErrorIs(t, onHosts(t, []int{0, 1}, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return gone
		}
		var b [1]byte
		_, named := mpi.Recv(c, b[:], 1, 0)
		_, made := c.Dup()
		errs := []error{named, made, c.Barrier()}
		if mpi.DefaultVariant != "optimistic" { // which has no wildcards
			_, any := mpi.Recv(c, b[:], mpi.AnySource, 0)
			_, probed := c.Probe(mpi.AnySource, 0)
			errs = append(errs, any, probed)
		}
		for _, err := range errs {
			require.ErrorIs(t, err, mpi.ErrProcFailed)
			require.ErrorContains(t, err, ": process failed: the connection to rank 1 has ended: see how that rank "+
				"has ended")
		}
		return named
	}), gone)
}

// A rank that is missing is told to those whose result depends on it, whoever led it or was led by it.
func TestHostsWithoutARank(t *testing.T) {
	gone := errors.New("gone")
	for _, hosts := range divisions {
		for missing := range hosts {
			require.ErrorIs(t, onHosts(t, hosts, func(c *mpi.Comm) error {
				if c.Rank() == missing {
					return gone
				}
				err := c.Barrier()
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				return err
			}), gone)
		}
	}
}
