package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// onNodes runs main as the ranks of a world, each on a node of its own with so much pinned memory, 0: with an SMMU, and
// returns what they return. Before that, change may change the mailbox addresses that rank 0 knows.
func onNodes(t *testing.T, ranks, window int, variant string, change func(book []packetizer.Address),
	main func(*Comm) error) []error {
	cfg := regs.Config{}
	for i := range ranks {
		cfg.Nodes = append(cfg.Nodes, regs.Node{ID: uint8(i + 1), PDIDs: []uint32{77}, Window: window})
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

// A message that the hardware refuses ends in an error that says to whom, where, with
// which protection IDs, and what to do; and so does whatever waits for that rank.
func TestRefusedMessages(t *testing.T) {
	for name, c := range map[string]struct {
		address packetizer.Address
		is      error
		says    string
	}{
		"another group": {packetizer.MailboxAddress(2, 78, 0), packetizer.ErrProtection,
			"rank 1 (node 2, protection ID 78, mailbox 0) from protection ID 77: wrong protection ID; start all ranks"},
		"no such node": {packetizer.MailboxAddress(9, 77, 0), packetizer.ErrNoDevice,
			"rank 1 (node 9, protection ID 77, mailbox 0) from protection ID 77: no usable device; see whether"},
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
					change := func(book []packetizer.Address) { book[1] = c.address }
					errs := onNodes(t, 2, 0, variant, change, func(world *Comm) error {
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

// A receive that pinned memory has no room for ends with an error that says so, its send completes, and later messages
// arrive.
func TestNoRoom(t *testing.T) {
	const window = 256 << 10 // of which receives have three quarters
	const ready = 9
	for _, variant := range Variants() {
		for _, first := range []int{0, 1} {
			t.Run(fmt.Sprint(variant, ", rank ", first, " first"), func(t *testing.T) {
				errs := onNodes(t, 2, window, variant, func([]packetizer.Address) {}, func(c *Comm) error {
					for _, size := range []int{100 << 10, 41} { // what fits, to a receive that does not
						if err := inTurn(c, first, ready, func() (*Request, error) {
							if c.Rank() == 0 {
								return Isend(c, make([]byte, size), 1, 3)
							}
							return Irecv(c, make([]byte, 1<<20), 0, 3)
						}, func(q *Request) error {
							_, err := q.Wait()
							if c.Rank() == 0 {
								return err
							}
							return hadNoRoom(err)
						}); err != nil {
							return err
						}
					}
					data, got := bytes.Repeat([]byte{7}, 30<<10), make([]byte, 150<<10)
					if c.Rank() == 0 {
						return Send(c, data, 1, 4)
					}
					st, err := Recv(c, got, 0, 4)
					if err == nil && !bytes.Equal(got[:st.Bytes()], data) {
						err = errors.New("damaged")
					}
					return err
				})
				require.NoError(t, errors.Join(errs...))
			})
		}
	}
}

// hadNoRoom returns nil for the error of a receive of 1 MiB that pinned memory has no room for.
func hadNoRoom(err error) error {
	var full *rdmaeng.WindowError
	if errors.Is(err, ErrNoMem) && errors.As(err, &full) && ErrorClass(err) == ClassNoMem &&
		strings.Contains(err.Error(), ", 1048576 bytes: no room") {
		return nil
	}
	return fmt.Errorf("a receive without room: %w", err)
}

// inTurn has one rank of two make a request before the other, and both wait for theirs.
func inTurn(c *Comm, first, tag int, make func() (*Request, error), wait func(*Request) error) error {
	if c.Rank() != first {
		if _, err := Recv(c, []byte{0}, first, tag); err != nil {
			return err
		}
	}
	q, err := make()
	if err != nil {
		return err
	}
	if c.Rank() == first {
		if err := Send(c, []byte{0}, 1-first, tag); err != nil {
			return err
		}
	}
	return wait(q)
}

// Of many receives at once that there is no room for together, each gets its message or ends with an error.
func TestReceivesWithoutRoomTogether(t *testing.T) {
	const n, size = 40, 20 << 10
	for _, variant := range Variants() {
		t.Run(variant, func(t *testing.T) {
			refused := 0
			errs := onNodes(t, 2, 256<<10, variant, func([]packetizer.Address) {}, func(c *Comm) error {
				var qs []*Request
				bufs := make([][]byte, n)
				for i := range n {
					bufs[i] = bytes.Repeat([]byte{byte(c.Rank() * (i + 1))}, size)
					if c.Rank() == 1 {
						q, err := Irecv(c, bufs[i], 0, i%3)
						if err != nil {
							return err
						}
						qs = append(qs, q)
					}
				}
				if c.Rank() == 0 {
					if _, err := Recv(c, []byte{0}, 1, 9); err != nil {
						return err
					}
					for i := range n {
						if err := Send(c, bufs[i], 1, i%3); err != nil {
							return err
						}
					}
					return nil
				}
				if err := Send(c, []byte{0}, 0, 9); err != nil {
					return err
				}
				for i, q := range qs {
					switch _, err := q.Wait(); {
					case errors.Is(err, ErrNoMem):
						refused++
					case err != nil:
						return err
					case !bytes.Equal(bufs[i], make([]byte, size)):
						return fmt.Errorf("message %d is damaged", i)
					}
				}
				return nil
			})
			require.NoError(t, errors.Join(errs...))
			require.Less(t, refused, n)
		})
	}
}

// A job of more ranks than pinned memory has room to watch does not begin; each rank hears why, and the pages are free.
func TestMoreRanksThanPinnedMemoryWatches(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{77}, Window: 64 << 10}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	o, err := options([]Option{WithDevice(deviceRegisters + ":" + d.Path(0))})
	require.NoError(t, err)
	for range 2 {
		var said string
		_, err = joinByPath(o, 0, 4000, func(mine []byte) ([][]byte, error) {
			said = string(mine)
			return [][]byte{mine}, nil
		})
		require.ErrorIs(t, err, rdmaeng.ErrRoom)
		const why = "a table of 4000 ranks: "
		require.ErrorContains(t, err, why)
		require.Contains(t, said, why)
		require.NotContains(t, err.Error(), "\n")
	}
}
