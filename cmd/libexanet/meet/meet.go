// Package meet is how the ranks of a job that another MPI has started find each
// other: each shows a card to all, by a collective of that MPI, and rank 0 hands
// out the memory of the job through a socket in the abstract name space, which
// leaves no name behind.
package meet

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
)

// Card is what a rank tells the others. It is plain memory.
type Card struct {
	Node   [32]byte // what host it is on
	Socket [31]byte // of rank 0: where to fetch the memory
	State  State
}

// State says whether a rank can take part.
type State byte

// The states of a rank.
const (
	Fit State = iota
	Failing
)

// Refusal says why the ranks cannot meet, nil if they can.
func Refusal(all []Card) error {
	for i, c := range all {
		switch {
		case c.Node != all[0].Node:
			return fmt.Errorf("ranks 0 and %d are on different hosts", i)
		case c.State != Fit:
			return fmt.Errorf("rank %d could not make the job's memory", i)
		}
	}
	return nil
}

// Node tells hosts apart, and containers whose sockets do not reach each other.
func Node() [32]byte {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	net, _ := os.Readlink("/proc/self/ns/net")
	return sha256.Sum256(bytes.Join([][]byte{boot, []byte(net)}, []byte{0}))
}
