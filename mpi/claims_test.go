package mpi_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// What the thesis says one transfer costs in control messages, protocol by
// protocol, held against what two ranks count. The rows are those of kind
// "exact" in ../reproduce/claims.csv.

// claim is such a row.
type claim struct {
	id, where, transfer string
	protocols           []string
	expected            []string // alternatives, each a list of kinds in the notation of join
	text                string
}

// order says who comes first in a transfer.
type order string

const (
	senderFirst   order = "sender first"   // its message has arrived before the receive is posted
	receiverFirst order = "receiver first" // the same the other way round
	crossing      order = "crossing"       // neither has seen the other's message when it posts
)

// transfer is one message from rank 0 to rank 1, in each of some orders.
type transfer struct {
	send, recv  int // bytes
	synchronous bool
	orders      []order
}

const (
	eagerSize = 8
	longSize  = 100_000
)

var anyOrder = []order{senderFirst, receiverFirst, crossing}

// transfers are what the column sizes_bytes may say.
var transfers = map[string][]transfer{
	"long":                {{longSize, longSize, false, anyOrder}},
	"long sender first":   {{longSize, longSize, false, []order{senderFirst}}},
	"long receiver first": {{longSize, longSize, false, []order{receiverFirst}}},
	"long crossing":       {{longSize, longSize, false, []order{crossing}}},
	"eager": {
		{eagerSize, eagerSize, false, anyOrder},
		{eagerSize, longSize, false, []order{senderFirst}},
	},
	"eager send into a long receive posted first": {{eagerSize, longSize, false, []order{receiverFirst}}},
	"eager Ssend": {{eagerSize, eagerSize, true, anyOrder}},
}

// thesisKinds are the control messages of the thesis. Those that this
// implementation adds (Credit and what cancelling takes) are not part of a
// transfer.
var thesisKinds = []string{"RTS", "CTS", "RTR", "Env", "EnvD", "EnvDS", "Ack"}

// join writes counted kinds as the table has them, in a fixed order: "RTS+CTS".
func join(n map[string]uint64) string {
	var out []string
	for _, k := range thesisKinds {
		for range n[k] {
			out = append(out, k)
		}
	}
	return strings.Join(out, "+")
}

func counted(kinds ...string) map[string]uint64 {
	n := make(map[string]uint64)
	for _, k := range kinds {
		n[k]++
	}
	return n
}

// readClaims reads the rows of kind exact.
func readClaims(t *testing.T) (claims []claim) {
	f, err := os.Open("../reproduce/claims.csv")
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, row := range rows[1:] {
		at := func(name string) string {
			i, ok := column[name]
			require.True(t, ok, name)
			return row[i]
		}
		if at("kind") != "exact" {
			continue
		}
		c := claim{id: at("id"), where: at("where"), transfer: at("sizes_bytes"), text: at("expected")}
		require.Equal(t, "control messages", at("bench"), c.id)
		require.Equal(t, "2", at("ranks"), c.id)
		for name := range strings.FieldsSeq(at("quantity")) {
			if name != "and" {
				c.protocols = append(c.protocols, name)
			}
		}
		// "A+B" or "A plus B or C".
		always, choice, _ := strings.Cut(c.text, " plus ")
		for one := range strings.SplitSeq(choice, " or ") {
			kinds := strings.Split(always, "+")
			if one != "" {
				kinds = append(kinds, one)
			}
			for _, k := range kinds {
				require.Contains(t, thesisKinds, k, c.id)
			}
			c.expected = append(c.expected, join(counted(kinds...)))
		}
		claims = append(claims, c)
	}
	return claims
}

// levels are the thread levels at which the thesis claims what it claims for a
// protocol: envless keeps the Env under MPI_THREAD_MULTIPLE (fig. 3.19).
func levels(protocol string) []mpi.ThreadLevel {
	all := []mpi.ThreadLevel{mpi.ThreadSingle, mpi.ThreadFunneled, mpi.ThreadSerialized, mpi.ThreadMultiple}
	if protocol == "envless" {
		return all[:3]
	}
	return all
}

func TestControlMessagesOfATransferAreThoseOfTheThesis(t *testing.T) {
	claims := readClaims(t)
	require.GreaterOrEqual(t, len(claims), 10)
	table := fmt.Sprintf("%-5s%-17s%-46s%-22s%s", "row", "thesis", "transfer", "claimed", "counted")
	for _, c := range claims {
		kinds := transfers[c.transfer]
		require.NotEmpty(t, kinds, "%s: this test does not know how to arrange %q", c.id, c.transfer)
		var found []string
		for _, name := range c.protocols {
			if !slices.Contains(mpi.Variants(), name) {
				continue
			}
			seen := make(map[string]bool)
			for _, level := range levels(name) {
				for _, device := range []string{"host", "prototype"} {
					for _, x := range kinds {
						if name == "optimistic" && x.mixed(device) {
							continue // it assumes that this does not occur
						}
						for _, o := range x.orders {
							got, err := x.run(o, mpi.WithVariant(name), mpi.WithThreadLevel(level),
								mpi.WithDevice(device))
							require.NoError(t, err, "%s: %s, %s, %s", c.id, name, c.transfer, o)
							require.Contains(t, c.expected, got,
								"%s: %s on %s at thread level %d, %d bytes into %d, %s",
								c.id, name, device, level, x.send, x.recv, o)
							seen[got] = true
						}
					}
				}
			}
			found = append(found, name+": "+strings.Join(slices.Sorted(maps.Keys(seen)), " or "))
		}
		if found == nil {
			pinned := len(mpi.Variants()) == 1
			require.True(t, pinned || slices.Equal(c.protocols, []string{"optimistic"}),
				"%s was checked on no protocol", c.id)
			found = []string{"(no such protocol here)"}
		}
		table += fmt.Sprintf("\n%-5s%-17s%-46s%-22s%s", c.id, c.where, c.transfer, c.text, strings.Join(found, ", "))
	}
	t.Logf("control messages of one transfer\n%s", table)
}

func TestEnvlessKeepsTheEnvUnderThreadMultiple(t *testing.T) {
	if !slices.Contains(mpi.Variants(), "envless") {
		t.Skipf("this build has %s only", mpi.Variants())
	}
	x := transfer{send: longSize, recv: longSize}
	got, err := x.run(receiverFirst, mpi.WithVariant("envless"), mpi.WithThreadLevel(mpi.ThreadMultiple))
	require.NoError(t, err)
	require.Equal(t, "RTR+Env", got)
}

const (
	tagTransfer = 7
	tagUnused   = 8
)

// mixed reports whether one side is eager on a device and the other long.
func (x transfer) mixed(device string) bool {
	limit := map[string]int{"host": 32 << 10, "prototype": 40}[device]
	return (x.send <= limit) != (x.recv <= limit)
}

// run makes the transfer once, between ranks that have exchanged nothing
// before, and returns what both have sent for it.
//
// The ranks meet outside of MPI, so that nobody polls but where it is said:
// posting does not, and the background polls only once something has been
// posted. A poll after the other rank has posted sees what it has sent.
func (x transfer) run(o order, opts ...mpi.Option) (string, error) {
	p := &partners{told: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}, failed: make(chan struct{})}
	var sent [2]map[string]uint64
	err := mpi.Run(2, func(c *mpi.Comm) (err error) {
		defer func() {
			if err != nil {
				p.fail()
			}
		}()
		sent[c.Rank()], err = x.take(c, o, p)
		return err
	}, opts...)
	if err != nil {
		return "", err
	}
	sum := make(map[string]uint64)
	for _, s := range sent {
		for kind, n := range s {
			sum[kind] += n
		}
	}
	return join(sum), nil
}

// progress takes what has arrived, without sending anything. Where nothing may
// be probed for, a receive that is taken back does it.
func progress(c *mpi.Comm, peer int) error {
	_, _, err := c.Iprobe(peer, tagUnused)
	if !errors.Is(err, mpi.ErrAssumption) {
		return err
	}
	q, err := mpi.Irecv(c, make([]byte, 1), peer, tagUnused)
	if err != nil {
		return err
	}
	if _, _, err := q.Test(); err != nil {
		return err
	}
	if err := q.Cancel(); err != nil {
		return err
	}
	_, err = q.Wait()
	return err
}

// take is a rank's part in run. It returns the increase of its counters.
func (x transfer) take(c *mpi.Comm, o order, p *partners) (map[string]uint64, error) {
	me := c.Rank()
	before := c.Counters()
	if err := p.meet(me); err != nil {
		return nil, err
	}
	second := map[order]int{senderFirst: 1, receiverFirst: 0, crossing: -1}[o]
	if me == second {
		if err := p.hear(me); err != nil {
			return nil, err
		}
		if err := progress(c, 1-me); err != nil {
			return nil, err
		}
	}
	q, buf, err := x.post(c)
	if err != nil {
		return nil, err
	}
	if me == 1-second {
		p.tell(me)
	}
	st, err := q.Wait()
	if err != nil {
		return nil, err
	}
	if me == 1 && (st.Bytes() != x.send || buf[0] != 'x' || buf[x.send-1] != 'x') {
		return nil, fmt.Errorf("the message did not arrive: %v", st)
	}
	if err := p.meet(me); err != nil {
		return nil, err
	}
	sent := c.Counters()
	for kind := range sent {
		sent[kind] -= before[kind]
	}
	return sent, nil
}

// post posts rank 0's send or rank 1's receive.
func (x transfer) post(c *mpi.Comm) (q *mpi.Request, buf []byte, err error) {
	if c.Rank() == 1 {
		buf = make([]byte, x.recv)
		q, err = mpi.Irecv(c, buf, 0, tagTransfer)
		return q, buf, err
	}
	buf = []byte(strings.Repeat("x", x.send))
	if x.synchronous {
		q, err = mpi.Issend(c, buf, 1, tagTransfer)
	} else {
		q, err = mpi.Isend(c, buf, 1, tagTransfer)
	}
	return q, buf, err
}

// partners lets two ranks wait for each other, or for the other's failure.
type partners struct {
	told   [2]chan struct{}
	failed chan struct{}
	once   sync.Once
}

var errPartner = errors.New("the other rank has failed")

func (p *partners) fail() { p.once.Do(func() { close(p.failed) }) }

// tell lets the other rank's hear return.
func (p *partners) tell(me int) { p.told[1-me] <- struct{}{} }

func (p *partners) hear(me int) error {
	select {
	case <-p.told[me]:
		return nil
	case <-p.failed:
		return errPartner
	}
}

func (p *partners) meet(me int) error {
	p.tell(me)
	return p.hear(me)
}
