package mpi

import (
	"errors"
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/emu/meet"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/pmi"
)

// joinLaunched takes a rank's place in the job of a launcher.
func joinLaunched(c *pmi.Client, o *settings) (f fabric, err error) {
	l := &cardsOf{Client: c}
	m, card := meet.Begin(c.Rank, c.Size, o.profile(), o.within, nil)
	defer m.End()
	texts, err := l.Gather(mem.Bytes([]meet.Card{card}))
	if err != nil {
		return nil, err
	}
	cards := make([]meet.Card, c.Size)
	for i, text := range texts {
		if copy(mem.Bytes(cards[i:i+1]), text) < meet.CardSize {
			return nil, fmt.Errorf("rank %d has another version of this library", i)
		}
	}
	if why, _ := meet.Refusal(cards); why != nil {
		return nil, errors.Join(why, m.Err())
	}
	all, err := m.Join(cards, l, o.device == deviceNetwork, func(segment *os.File, p *net.Peers) (err error) {
		o.segment, o.place, o.peers = segment, c.Rank, p
		f, err = enter(o, segment, c.Rank)
		return err
	})
	if err == nil && !all {
		err = errors.New("a rank could not join the others")
	}
	return f, err
}
