//go:build linux

// Package meet is how the ranks of a job find each other that another launcher has started, or another MPI.
//
//	Card      what each rank tells all, by whatever has started them (card.go)
//	Server    hands out the memory of a host's ranks (server.go), and Client fetches it (client.go)
//	Meeting   the whole way of a rank, from its card to its place in the job (meeting.go)
//
// Each rank shows its business card to all. The first rank of each host makes the memory of the ranks there, and
// hands it out at a socket in the abstract name space, which leaves no name behind. The sockets then carry what else
// must be agreed on before the memory can be used: who waits sleeps, unlike in most collectives of an MPI. If there are
// several hosts the ranks first show each other where they listen (emu/net).
//
// Within a host nothing goes through Go's poller, whose files the program might close, or leaves a file open.
package meet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Card is a rank's business card: what it tells the others. It is plain memory of CardSize bytes.
type Card struct {
	State   State
	Socket  Socket   // of rank 0: where ranks of its host fetch the memory
	Node    [32]byte // what host it is on
	Profile [32]byte // what all must have alike
	Device  [32]byte // its name, if that was asked for and is within one host, else zeros
}

// Socket is the name of a Server, which others cannot guess.
type Socket [31]byte

// CardSize is the size of a card. Ranks without this package show one as well:
// their state, and zeros.
const CardSize = 128

// State says whether a rank can take part.
type State byte

// The states of a rank.
const (
	Ready State = iota
	Failing
	Disabled  // the user does not want it to
	NotLoaded // what this package is part of, which the rank has said itself
)

// ErrDisabled is why the ranks do not join if none is to.
var ErrDisabled = errors.New("EXANET_DISABLE is set")

// Refusal says why the ranks cannot join, nil if they can, and which of them is to
// tell the user.
func Refusal(all []Card) (why error, speaker int) {
	speaker = -1
	count := make(map[State]int)
	for i, c := range all {
		count[c.State]++
		if speaker < 0 && c.State <= Failing {
			speaker = i
		}
	}
	switch {
	case count[Disabled] == len(all):
		return ErrDisabled, speaker
	case count[NotLoaded] > 0:
		return errors.New("a rank could not load the Go part"), -1
	}
	for i, c := range all {
		switch {
		case c.State == Disabled:
			return fmt.Errorf("rank %d has EXANET_DISABLE set, and not all have", i), speaker
		case c.State != Ready:
			return fmt.Errorf("rank %d cannot take part", i), i
		case c.Profile != all[0].Profile:
			return fmt.Errorf("ranks 0 and %d have different settings: give all the same EXANET_VARIANT, "+
				"EXANET_BANDS, EXANET_DEVICE, EXANET_CHECK and EXANET_COLL", i), speaker
		}
	}
	if i := slices.IndexFunc(all, func(c Card) bool { return c.Node != all[0].Node }); i > 0 {
		for _, c := range all {
			if device := string(bytes.TrimRight(c.Device[:], "\x00")); device != "" {
				return fmt.Errorf("the device %s is within one host, and rank %d is on another than rank 0: choose "+
					"network, registers:PATH or none", device, i), speaker
			}
		}
	}
	return nil, -1
}

// Node tells hosts apart, and containers whose sockets do not reach each other.
func Node() [32]byte {
	boot, _ := sys.Text("/proc/sys/kernel/random/boot_id")
	net := make([]byte, 64)
	n, _ := unix.Readlink("/proc/self/ns/net", net)
	return Digest([]byte(boot), net[:max(n, 0)])
}

// Digest turns texts into what fits on a card. Nobody gains by texts of one digest:
// what package crypto brings would only take longer to load.
func Digest(texts ...[]byte) (d [32]byte) {
	h := fnv.New128a()
	_, _ = h.Write(bytes.Join(texts, []byte{0}))
	h.Sum(d[:0])
	return d
}
