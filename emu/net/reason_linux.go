package net

import "fmt"

// reason is why a rank of another host is dead. The ranks of a host have it in common, as they have the death.
type reason uint32

const (
	closed  reason = 1 + iota // the connection has ended: it has, or it has given up the rank at this end
	silent                    // nothing has come for the limit
	unsound                   // something has come that no rank sends
)

// Why implements network.Reasons.
func (f *Fabric) Why(rank int) error {
	switch reason(f.Reason(rank)) {
	case closed:
		return fmt.Errorf("the connection to rank %d has ended: see how that rank has ended", rank)
	case silent:
		return fmt.Errorf("nothing has come from the host of rank %d for %v: see whether the network or that host is "+
			"down", rank, f.silence)
	case unsound:
		return fmt.Errorf("rank %d has sent what no rank of this version sends: see whether all hosts have the same "+
			"exanet", rank)
	}
	return nil
}
