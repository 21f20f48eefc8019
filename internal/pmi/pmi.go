// Package pmi joins the jobs of other launchers: those of MPICH, Slurm and Open MPI. A launcher tells each process its
// rank, and has a space of keys and values, in which the processes show each other what they need to meet, as where
// they listen.
//
// Open finds the launcher in the environment and returns a Client (this file). What a Client asks of its launcher is
// a Launcher. There are two: wire.go speaks PMI-1, which is lines of text over a socket, to Hydra and to Slurm's
// plugin pmi2; package mpi/pmix calls the library of PMIx and registers itself here where a program imports it.
package pmi

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MaxData is how many bytes a rank may show to the others at once.
const MaxData = 64 << 10

// Launcher is a rank's connection to what has started it. One goroutine at a time may call it, but for Abort, which
// any may call at any time. After an error it is of no more use, but for Abort.
type Launcher interface {
	// Limit is how many bytes a value may have.
	Limit() int
	// Put sets the value of a key of this rank's, once. Keys and values have no spaces, semicolons and equals signs.
	Put(ctx context.Context, key, value string) error
	// Fence returns when all ranks have called it; what they have put before can be got then.
	Fence(ctx context.Context) error
	// Get returns the value of a key that a rank has put.
	Get(ctx context.Context, rank int, key string) (string, error)
	// Finalize leaves: the launcher may take this process's end for a good one.
	Finalize(ctx context.Context) error
	// Abort has all ranks of the job ended. The caller should exit with that code, too.
	Abort(code int) error
}

// Client is a rank's place in the job of a launcher.
type Client struct {
	Rank, Size int
	Job        string // the launcher's name for the job, the same in all its ranks

	Launcher
}

// openPMIx is what package mpi/pmix has registered.
var openPMIx func(context.Context) (*Client, error)

// RegisterPMIx has Open call a function where the environment names a launcher of PMIx.
func RegisterPMIx(open func(context.Context) (*Client, error)) { openPMIx = open }

// Open joins the job of the launcher that the environment names. It returns nil without an error if there is none,
// or one of PMIx and nothing is registered for it.
func Open(ctx context.Context) (*Client, error) {
	for _, name := range []string{descriptorVar, portVar} {
		if os.Getenv(name) != "" {
			return openWire(ctx, name)
		}
	}
	if os.Getenv("PMIX_NAMESPACE") != "" && openPMIx != nil {
		return openPMIx(ctx)
	}
	return nil, nil
}

// AllGather shows each rank's bytes, at most MaxData, to all, and returns those of all ranks in their order. All ranks
// call it, with the same name, a short word, which is used once a job.
func (c *Client) AllGather(ctx context.Context, name string, mine []byte) ([][]byte, error) {
	if len(mine) > MaxData {
		return nil, fmt.Errorf("rank %d cannot show %d bytes of %s to the other ranks: at most %d",
			c.Rank, len(mine), name, MaxData)
	}
	rest := encode(mine)
	for part := 0; rest != ""; part++ {
		n := min(len(rest), c.Limit())
		if err := c.Put(ctx, key(name, c.Rank, part), rest[:n]); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	if err := c.Fence(ctx); err != nil {
		return nil, err
	}
	all := make([][]byte, c.Size)
	for r := range all {
		var err error
		all[r], err = decode(func(part int) (string, error) { return c.Get(ctx, r, key(name, r, part)) })
		if err != nil {
			return nil, fmt.Errorf("%s of rank %d: %w", name, r, err)
		}
	}
	return all, nil
}

func key(name string, rank, part int) string { return fmt.Sprintf("exanet-%s-%d-%d", name, rank, part) }

var text = base64.RawURLEncoding

// encode makes a text of bytes, which says first how many they are. A launcher that bounds values gets it in parts.
func encode(b []byte) string { return strconv.Itoa(len(b)) + "." + text.EncodeToString(b) }

// decode makes bytes of the parts of their text.
func decode(part func(int) (string, error)) ([]byte, error) {
	first, err := part(0)
	if err != nil {
		return nil, err
	}
	size, have, ok := strings.Cut(first, ".")
	n, err := strconv.Atoi(size)
	if !ok || err != nil || n < 0 || n > MaxData {
		return nil, fmt.Errorf("a value begins with %.20q, not with its size", first)
	}
	var all strings.Builder
	all.WriteString(have)
	for i := 1; all.Len() < text.EncodedLen(n); i++ {
		more, err := part(i)
		if err != nil {
			return nil, err
		}
		if more == "" {
			return nil, fmt.Errorf("a value ends after %d of %d characters", all.Len(), text.EncodedLen(n))
		}
		all.WriteString(more)
	}
	b, err := text.DecodeString(all.String())
	if err != nil {
		return nil, err
	}
	if len(b) != n {
		return nil, fmt.Errorf("a value has %d bytes and should have %d", len(b), n)
	}
	return b, nil
}
