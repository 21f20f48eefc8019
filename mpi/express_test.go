package mpi

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants/express"
)

// A table says what its owner must know who leaves Go: messages that wait there come first, and a
// persistent request whose communicator has gone is not started for another of the same handle.
func TestATableSaysWhatIsInGo(t *testing.T) {
	lends := true
	var strays [2]uint32
	var kept [3]uint64
	require.NoError(t, Run(2, func(c *Comm) error {
		d, err := c.Dup()
		if c.Rank() == 1 {
			return errors.Join(err, Send(c, []int32{1}, 0, 7), c.Barrier(), d.Free())
		}
		table := new(express.Table)
		if _, lends = any(c.rank.proto).(lessor); !lends {
			return errors.Join(err, recv1(c), c.Barrier(), d.Free())
		}
		x, err2 := c.OpenExpress(table)
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		_, err = c.Probe(1, 7)
		strays[0] = table.Strays
		err = errors.Join(err, recv1(c))
		strays[1] = table.Strays
		x.Lend(c, 44)
		x.Lend(d, 55)
		table.Kept[1].Comm, table.Kept[2].Comm, table.Kept[255].Comm = 44, 55, 55
		err = errors.Join(err, c.Barrier(), d.Free())
		kept = [3]uint64{table.Kept[1].Comm, table.Kept[2].Comm, table.Kept[255].Comm}
		if table.Ranks != 2 {
			err = errors.Join(err, fmt.Errorf("%d ranks", table.Ranks))
		}
		return err
	}, WithDevice(deviceHost)))
	if !lends {
		t.Skip("the protocol of this build is no lender of lanes")
	}
	require.Equal(t, [2]uint32{1, 0}, strays)
	require.Equal(t, [3]uint64{44, 0, 0}, kept)
}

// recv1 takes the message of rank 1.
func recv1(c *Comm) error {
	_, err := Recv(c, []int32{0}, 1, 7)
	return err
}
