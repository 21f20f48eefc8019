package mpi

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/packetizer"
)

// onNodes runs main as the ranks of a world, each on a node of its own, and returns what they return. Before that,
// change may change the mailbox addresses that rank 0 knows.
func onNodes(t *testing.T, ranks int, variant string, change func(book []packetizer.Address),
	main func(*Comm) error) []error {
	cfg := regs.Config{}
	for i := range ranks {
		cfg.Nodes = append(cfg.Nodes, regs.Node{ID: uint8(i + 1), PDIDs: []uint32{77}})
	}
	d, err := regs.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	o, err := options([]Option{WithDevice(deviceRegisters), WithVariant(variant)})
	require.NoError(t, err)
	job, all, entries := host.NewLocalJob(ranks), make([]*registers, ranks), make([]endpoint.Entry, ranks)
	for i := range all {
		var b endpoint.Blocks
		b.Packetizer, b.Mailbox, b.Channel = d.Blocks(i)
		e, err := endpoint.Attach(b, 0)
		require.NoError(t, err)
		m, err := job.JoinLocal(i)
		require.NoError(t, err)
		all[i], entries[i] = &registers{Member: m, device: device{e}}, e.Entry()
	}
	errs := make([]error, ranks)
	var wg sync.WaitGroup
	for i, r := range all {
		r.Join(i, entries)
		if i == 0 {
			var book []packetizer.Address
			for _, e := range entries {
				book = append(book, e.Mailbox)
			}
			change(book)
			r.SetBook(book)
		}
		k, err := newRank(r, o)
		require.NoError(t, err)
		wg.Go(func() { errs[i] = k.live(main) })
	}
	wg.Wait()
	return errs
}

// A message that the hardware refuses ends in an error that says to whom, where, with which protection IDs, and what to
// do; and so does whatever waits for that rank.
func TestRefusedMessages(t *testing.T) {
	for name, c := range map[string]struct {
		address packetizer.Address
		is      error
		says    string
	}{
		"another group": {packetizer.MailboxAddress(2, 78, 0), packetizer.ErrProtection,
			"rank 1 (node 2, protection ID 78, mailbox 0) from protection ID 77: wrong protection ID; start all ranks"},
		"no such node": {packetizer.MailboxAddress(9, 77, 0), packetizer.ErrNoDevice,
			"rank 1 (node 9, protection ID 77, mailbox 0) from protection ID 77: no usable device; see whether that node"},
	} {
		for _, variant := range Variants() {
			for what, call := range map[string]func(*Comm) error{
				"long": func(c *Comm) error { return Send(c, make([]byte, 1<<20), 1, 3) },
				"short": func(c *Comm) (err error) {
					for range 100_000 { // the first ones may be on their way
						if err = Send(c, []byte{1}, 1, 3); err != nil {
							break
						}
					}
					return err
				},
				"receive": func(c *Comm) error {
					if err := Send(c, []byte{1}, 1, 3); err != nil {
						return err
					}
					_, err := Recv(c, make([]byte, 1), 1, 3)
					return err
				},
				"any source": func(c *Comm) error {
					if err := Send(c, []byte{1}, 1, 3); err != nil {
						return err
					}
					_, err := Recv(c, make([]byte, 1), AnySource, 3)
					return err
				},
				"probe": func(c *Comm) error {
					if err := Send(c, []byte{1}, 1, 3); err != nil {
						return err
					}
					_, err := c.Probe(1, 3)
					return err
				},
				"barrier": func(c *Comm) error { return c.Barrier() },
			} {
				if variant == "optimistic" && what != "short" && what != "receive" && what != "barrier" {
					continue // it sends nothing long before the receiver has, and has no such calls
				}
				t.Run(fmt.Sprint(name, " ", variant, " ", what), func(t *testing.T) {
					errs := onNodes(t, 2, variant, func(book []packetizer.Address) { book[1] = c.address },
						func(world *Comm) error {
							if world.Rank() == 0 {
								return call(world)
							}
							_, err := Recv(world, make([]byte, 1<<20), 0, 4)
							return err
						})
					require.ErrorIs(t, errs[0], ErrProcFailed)
					require.ErrorIs(t, errs[0], c.is)
					require.ErrorContains(t, errs[0], c.says)
					var e *packetizer.RefusedError
					require.ErrorAs(t, errs[0], &e)
					require.Equal(t, packetizer.RefusedError{To: 1, Address: c.address, PDID: 77, Err: c.is}, *e)
					require.ErrorIs(t, errs[1], ErrProcFailed, "rank 0 has failed")
				})
			}
		}
	}
}
