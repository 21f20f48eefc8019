package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/env"
)

// Registers that a path leads to. Nothing else joins the ranks: they may be on nodes that share no memory, and nobody
// but the hardware tells who has died. So each is the only one in a job of its own (emu/host), and they show each
// other the addresses of their mailboxes and channels by what has started them (thesis 3.2.1).

// shows has all ranks of a job show each other what they say, by rank.
type shows func(mine []byte) ([][]byte, error)

// itself stands for the path of the device that the system names.
const itself = "?"

// letter is what a rank shows the others.
type letter struct {
	Failed  string `json:",omitempty"` // why it cannot take part
	Profile string // what all must have alike
	Entry   endpoint.Entry
}

// withRanks is inside.Functions.WithRanks.
func withRanks(rank, size int, show func(mine []byte) ([][]byte, error)) Option {
	return func(s *settings) error {
		s.place, s.ranks, s.show = rank, size, show
		return nil
	}
}

// joinByPath takes a rank's place in a job that somebody else has started.
func joinByPath(o *settings, rank, size int, show shows) (fabric, error) {
	reachable(rank)
	m, err := partOf(size, func(i int) bool { return i == rank }).JoinLocal(rank)
	if err != nil {
		return nil, err
	}
	return openByPath(m, o, show)
}

// joinAtPlace is joinByPath where the environment names a net.Place.
func joinAtPlace(o *settings, rank int) (fabric, error) {
	size, err := strconv.Atoi(os.Getenv(env.Size))
	if err != nil || rank < 0 || rank >= size {
		return nil, fmt.Errorf("%s=%d and %s=%q: want numbers, the first below the second", env.Rank, rank, env.Size,
			os.Getenv(env.Size))
	}
	return joinByPath(o, rank, size, func(mine []byte) (all [][]byte, err error) {
		all, _, err = net.Exchange(context.Background(), os.Getenv(env.Meet), rank, mine)
		return all, err
	})
}

// openByPath opens the registers for a member of a job.
func openByPath(m *host.Member, o *settings, show shows) (fabric, error) {
	mine := letter{Profile: o.profile()}
	r, err := attach(m, o)
	if err != nil {
		mine.Failed = err.Error()
	} else {
		mine.Entry = r.Entry()
		mine.Entry.Table = r.detector.Table()
	}
	entries, e := tell(m.Rank(), mine, show)
	if err != nil { // the others have been told
		return nil, err
	}
	if err = e; err == nil {
		err = r.Join(m.Rank(), entries)
	}
	if err != nil {
		return nil, errors.Join(err, r.Endpoint.Close())
	}
	r.detector.Begin(entries)
	return r, nil
}

// attach takes a rank's pages of its node.
func attach(m *host.Member, o *settings) (*registers, error) {
	nodes, err := o.nodes()
	if err != nil {
		return nil, err
	}
	if n, ranks := len(nodes), m.Size(); n > ranks && m.Rank() == 0 {
		fmt.Fprintf(os.Stderr, "exanet: %d nodes are more than the %d ranks of this job: some have none\n", n, ranks)
	}
	silence, err := net.ParseSilence(o.silence)
	if err != nil {
		return nil, err
	}
	blocks, err := endpoint.Locate(nodes[m.Rank()*len(nodes)/m.Size()])
	if err != nil {
		return nil, err
	}
	e, err := endpoint.Attach(blocks, 0)
	if err != nil {
		return nil, err
	}
	d, err := e.NewDetector(m.Size(), silence)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &registers{Member: m, device: device{e}, detector: d}, nil
}

// tell has the ranks show each other their letters, and returns what there is in those of all. All ranks get the same
// error, unless it is theirs.
func tell(rank int, mine letter, show shows) ([]endpoint.Entry, error) {
	text, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	all, err := show(text)
	if err != nil {
		return nil, err
	}
	entries := make([]endpoint.Entry, len(all))
	for i, text := range all {
		var l letter
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("rank %d has another version of this library: %w", i, err)
		}
		switch {
		case l.Failed != "":
			return nil, fmt.Errorf("rank %d cannot take part: %s", i, l.Failed)
		case l.Profile != mine.Profile:
			return nil, &host.ProfileError{Rank: rank, Peer: i, Mine: mine.Profile, Theirs: l.Profile}
		}
		entries[i] = l.Entry
	}
	return entries, nil
}
