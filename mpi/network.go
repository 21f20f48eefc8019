package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// meetTime is how long ranks may take to connect to each other, once all have said where they are.
const meetTime = 60 * time.Second

// lookEvery is how often a rank that waits for the others to come looks whether one has died.
const lookEvery = 50 * time.Millisecond

// overNetwork reports whether ranks talk over the network, all of them or those of different hosts.
func (s *settings) overNetwork() bool { return s.device == deviceNetwork || s.peers != nil }

// overNetwork makes the ranks of Run on the device network: each is a host of its own, unless a test wants larger ones,
// and they are connected over this host's own network.
func overNetwork(n int, o *settings) ([]fabric, error) {
	ctx, cancel := context.WithTimeout(context.Background(), meetTime)
	defer cancel()
	secret := net.NewSecret()
	aHost := max(1, o.aHost)
	first := func(i int) int { return i - i%aHost }
	listeners, cards, jobs := make([]*net.Listener, n), make([][]byte, n), make([]*host.Job, n)
	for i := range listeners {
		l, err := net.Listen("127.0.0.1")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		listeners[i], cards[i] = l, l.Card(o.profile(), first(i))
		if jobs[i] = jobs[first(i)]; jobs[i] == nil {
			jobs[i] = partOf(n, func(j int) bool { return first(j) == i })
		}
	}
	fabs, errs := make([]fabric, n), make([]error, n)
	var wg sync.WaitGroup
	for i, l := range listeners {
		wg.Go(func() {
			p := &net.Peers{Listener: l, Secret: secret, Cards: slices.Clone(cards)}
			forget(p.Cards, i, func(j int) bool { return first(j) == first(i) })
			conns, err := p.Connect(ctx, i)
			if err == nil {
				fabs[i], err = member(jobs[i], i, conns, o)
			}
			if errs[i] = err; err != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return fabs, nil
}

// openNetwork connects a rank to those of other hosts. If there are none, every rank is taken for one.
func openNetwork(m *host.Member, o *settings) (fabric, error) {
	here := func(i int) bool { return i == m.Rank() || m.Spread() && m.Here(i) }
	p := o.peers
	if p == nil {
		first := 0
		for !here(first) {
			first++
		}
		l, err := net.Listen("")
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", m.Rank(), err)
		}
		defer l.Close()
		p = &net.Peers{Listener: l}
		if p.Cards, p.Secret, err = exchange(m, l.Card(o.profile(), first)); err != nil {
			return nil, err
		}
	}
	forget(p.Cards, m.Rank(), here)
	ctx, cancel := context.WithTimeout(context.Background(), meetTime)
	defer cancel()
	conns, err := p.Connect(ctx, m.Rank())
	if n := p.Listener.Refused(); n > 0 {
		fmt.Fprintf(os.Stderr, "exanet: rank %d has refused %d connections of strangers\n", m.Rank(), n)
	}
	if err != nil {
		return nil, err
	}
	return net.NewFabric(settled(m, o), conns, o.delay())
}

// forget takes the cards away of ranks to which there is no connection.
func forget(cards [][]byte, me int, here func(i int) bool) {
	for i := range cards {
		if here(i) && i != me {
			cards[i] = nil
		}
	}
}

// exchange is net.Exchange, but waits no longer when a rank of this host has died: it may not have come.
func exchange(m *host.Member, mine []byte) (cards [][]byte, secret net.Secret, err error) {
	ctx, stop := context.WithCancelCause(context.Background())
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil && m.Deaths() == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(lookEvery):
			}
		}
		stop(fmt.Errorf("rank %d waits in vain for all to call Init: one has ended: %w", m.Rank(), rdmaeng.ErrPeer))
	})
	defer watch.Wait()
	defer stop(nil)
	cards, secret, err = net.Exchange(ctx, os.Getenv(env.Meet), m.Rank(), mine)
	switch {
	case errors.Is(err, net.ErrMeet):
		err = fmt.Errorf("%w; or start the job with exanet run --device network", err)
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, rdmaeng.ErrPeer):
		m.Miss()
	}
	return cards, secret, err
}

// partOf is the memory of a host, for those of the ranks that are here.
func partOf(n int, here func(i int) bool) *host.Job {
	job := host.NewLocalJob(n)
	for i := range n {
		if !here(i) {
			job.Elsewhere(i)
		}
	}
	return job
}

// member is the fabric of a rank of Run.
func member(job *host.Job, me int, conns []net.Conn, o *settings) (fabric, error) {
	m, err := job.JoinLocal(me)
	if err != nil {
		return nil, err
	}
	return net.NewFabric(host.NewFabric(m, o.limit()), conns, 0)
}
