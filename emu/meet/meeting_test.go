//go:build linux

package meet

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// table is a launcher whose ranks are goroutines.
type table struct {
	mu    sync.Mutex
	came  *sync.Cond
	size  int
	said  [][][]byte // by time, by rank
	count []int      // by time
}

func newTable(size int) *table {
	b := &table{size: size}
	b.came = sync.NewCond(&b.mu)
	return b
}

type seat struct {
	*table
	rank, times int
}

func (s *seat) Gather(mine []byte) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.times
	s.times++
	if at == len(s.said) {
		s.said, s.count = append(s.said, make([][]byte, s.size)), append(s.count, 0)
	}
	s.said[at][s.rank] = slices.Clone(mine)
	s.count[at]++
	s.came.Broadcast()
	for s.count[at] < s.size {
		s.came.Wait()
	}
	return s.said[at], nil
}

func (s *seat) Excuse(int, error) {}
func (s *seat) Excused() int      { return 0 }

// meetAll has ranks meet that are on the hosts which the list says, of whom one fails to take its place, or none does.
// It returns whether each has been told that all have theirs.
func meetAll(t *testing.T, hosts []byte, fails int) []bool {
	t.Helper()
	n, b := len(hosts), newTable(len(hosts))
	told := make([]bool, n)
	var wg sync.WaitGroup
	for rank, at := range hosts {
		wg.Go(func() {
			s := &seat{table: b, rank: rank}
			m, card := Begin(rank, n, "", "", nil)
			defer m.End()
			card.Node[0] ^= at
			cards := make([]Card, n)
			all, _ := s.Gather([]byte{at}) // never fails
			for i, text := range all {
				cards[i] = card
				cards[i].Node[0] ^= at ^ text[0]
			}
			socket, _ := s.Gather(card.Socket[:])
			copy(cards[0].Socket[:], socket[0])
			var err error
			told[rank], err = m.Join(cards, s, false, func(segment *os.File, p *net.Peers) error {
				return takePlace(segment, p, rank, hosts, rank == fails)
			})
			if told[rank] {
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	return told
}

var errFails = errors.New("this one fails")

// takePlace joins the memory of a host and connects to the ranks of others, of which it must be told exactly.
func takePlace(segment *os.File, p *net.Peers, rank int, hosts []byte, fails bool) error {
	if fails {
		return errFails
	}
	m, err := host.Join(segment, rank, "")
	if err != nil {
		return err
	}
	if err := m.WaitJoined(); err != nil {
		return err
	}
	for i, at := range hosts {
		if m.Here(i) != (at == hosts[rank]) {
			return errors.New("a rank is elsewhere than it should be")
		}
	}
	if p == nil {
		return nil
	}
	for i := range p.Cards {
		if m.Here(i) && i != rank {
			p.Cards[i] = nil
		}
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	conns, err := p.Connect(ctx, rank)
	if err == nil && len(conns) != len(slices.DeleteFunc(slices.Clone(hosts), func(at byte) bool {
		return at == hosts[rank]
	})) {
		err = errors.New("there are connections to others than the ranks elsewhere")
	}
	for _, c := range conns {
		if c.Host != bytes.IndexByte(hosts, hosts[c.Rank]) {
			err = errors.New("a rank is not on the host that it should be on")
		}
	}
	return err
}

// Ranks on any hosts meet, or all are told that one has failed to.
func TestMeeting(t *testing.T) {
	if err := sys.Processes(); err != nil {
		t.Skip(err)
	}
	for _, hosts := range [][]byte{{0}, {0, 0}, {0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 2}, {0, 1, 1, 2, 0}} {
		for _, told := range meetAll(t, hosts, -1) {
			require.True(t, told, hosts)
		}
	}
	for fails := range 3 { // of one host: those of others would wait for its connection
		for _, told := range meetAll(t, []byte{0, 0, 0}, fails) {
			require.False(t, told)
		}
	}
}
