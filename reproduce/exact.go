package reproduce

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/variants"
)

// order says who comes first in a transfer.
type order int

const (
	senderFirst order = iota
	receiverFirst
	crossing
)

var anyOrder = []order{senderFirst, receiverFirst, crossing}

// transfer is one message of two ranks.
type transfer struct {
	send, recv  int // bytes
	synchronous bool
	orders      []order
}

const eagerBytes, longBytes = 8, 8192

// Sizes in Small and Yuan's bands.
const mediumBytes, largeBytes = 30000, 100000

// transfers are what the column sizes_bytes says of rows of kind exact. An eager send into a long receive
// breaks optimistic's assumption and is left out there.
var transfers = map[string][]transfer{
	"long":                {{longBytes, longBytes, false, anyOrder}},
	"long sender first":   {{longBytes, longBytes, false, []order{senderFirst}}},
	"long receiver first": {{longBytes, longBytes, false, []order{receiverFirst}}},
	"long crossing":       {{longBytes, longBytes, false, []order{crossing}}},
	"eager": {{eagerBytes, eagerBytes, false, anyOrder},
		{eagerBytes, longBytes, false, []order{senderFirst}}},
	"eager send into a long receive posted first": {{eagerBytes, longBytes, false, []order{receiverFirst}}},
	"eager Ssend": {{eagerBytes, eagerBytes, true, anyOrder}},

	"medium sender first":   {{mediumBytes, mediumBytes, false, []order{senderFirst}}},
	"medium receiver first": {{mediumBytes, mediumBytes, false, []order{receiverFirst}}},
	"medium crossing":       {{mediumBytes, mediumBytes, false, []order{crossing}}},
	"large":                 {{largeBytes, largeBytes, false, anyOrder}},
	"large sender first":    {{largeBytes, largeBytes, false, []order{senderFirst}}},
	"large receiver first":  {{largeBytes, largeBytes, false, []order{receiverFirst}}},
	"large crossing":        {{largeBytes, largeBytes, false, []order{crossing}}},
	"eager send into a large receive posted first": {{eagerBytes, largeBytes, false, []order{receiverFirst}}},
}

// thesisKinds are the control messages of the thesis; this implementation's own are not part of a
// transfer.
var thesisKinds = []variants.Kind{variants.RTS, variants.CTS, variants.RTR, variants.Env, variants.EnvD, variants.EnvDS,
	variants.Ack}

// exact holds a row of kind exact against the simulation.
func (s *sheet) exact(c *Claim) (agrees bool, simulated string) {
	expected := alternatives(c.Expected)
	kinds := transfers[c.Sizes]
	if kinds == nil {
		s.err = fmt.Errorf("%s: cannot arrange %q", c.ID, c.Sizes)
		return false, ""
	}
	agrees = true
	var found []string
	for name := range strings.FieldsSeq(c.Quantity) {
		if name == "and" {
			continue
		}
		var seen []string
		for _, x := range kinds {
			if name == optimistic && x.send != x.recv {
				continue
			}
			for _, o := range x.orders {
				got, err := s.transfer(x, o, name)
				if err != nil {
					s.err = fmt.Errorf("%s: %w", c.ID, err)
					return false, ""
				}
				agrees = agrees && slices.Contains(expected, got)
				if !slices.Contains(seen, got) {
					seen = append(seen, got)
				}
			}
		}
		found = append(found, name+": "+strings.Join(seen, " or "))
	}
	return agrees, strings.Join(found, "; ")
}

// alternatives reads "A+B", or "A plus B or C", in the order of thesisKinds.
func alternatives(text string) (list []string) {
	always, choice, _ := strings.Cut(text, " plus ")
	for one := range strings.SplitSeq(choice, " or ") {
		kinds := strings.Split(always, "+")
		if one != "" {
			kinds = append(kinds, one)
		}
		slices.SortFunc(kinds, func(a, b string) int { return kindIndex(a) - kindIndex(b) })
		list = append(list, strings.Join(kinds, "+"))
	}
	return list
}

func kindIndex(name string) int {
	return slices.IndexFunc(thesisKinds, func(k variants.Kind) bool { return k.String() == name })
}

const transferTag = 7

// transfer makes one transfer in an order and returns the control messages of both ranks.
func (l *lab) transfer(x transfer, o order, variant string) (string, error) {
	later := map[order]int{senderFirst: 1, receiverFirst: 0, crossing: -1}[o]
	u := pair("a transfer", sameQFDB)
	u.variant, u.size = variant, x.send
	sent := map[string]uint64{}
	count := func(c *mpi.Comm, sign uint64) {
		for kind, n := range c.Counters() {
			sent[kind] += sign * n
		}
	}
	// The envless protocol keeps the Env where several threads may call MPI (thesis fig. 3.19).
	_, err := l.run(u, func(c *mpi.Comm) error {
		const moment = time.Millisecond // of a simulation's clock, which is one for all
		c.Compute(moment - c.Now())
		count(c, ^uint64(0))
		if c.Rank() == later {
			c.Compute(moment) // the other's message has long arrived
			if _, _, err := c.Iprobe(c.Rank(), transferTag); err != nil && !errors.Is(err, mpi.ErrAssumption) {
				return err
			}
		}
		q, err := post(c, x, variant)
		if err != nil {
			return err
		}
		if _, err := q.Wait(); err != nil {
			return err
		}
		c.Compute(4*moment - c.Now())
		count(c, 1)
		return nil
	}, mpi.WithThreadLevel(mpi.ThreadSingle))
	if err != nil {
		return "", err
	}
	var out []string
	for _, k := range thesisKinds {
		for range sent[k.String()] {
			out = append(out, k.String())
		}
	}
	return strings.Join(out, "+"), nil
}

func post(c *mpi.Comm, x transfer, variant string) (*mpi.Request, error) {
	if c.Rank() == 1 {
		from := 0
		if variant == sendInitiated {
			from = mpi.AnySource
		}
		return mpi.Irecv(c, make([]byte, x.recv), from, transferTag)
	}
	if x.synchronous {
		return mpi.Issend(c, make([]byte, x.send), 1, transferTag)
	}
	return mpi.Isend(c, make([]byte, x.send), 1, transferTag)
}
