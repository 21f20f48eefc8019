package mpi_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/variants"
)

// repeated is a way to exchange messages with a neighbour again and again: buffers that stay, and what a round does.
type repeated func(c *mpi.Comm, out, in []byte, peer int) (round func() error, err error)

var repetitions = map[string]repeated{
	"persistent": func(c *mpi.Comm, out, in []byte, peer int) (func() error, error) {
		r, err := mpi.RecvInit(c, in, peer, 1)
		if err != nil {
			return nil, err
		}
		s, err := mpi.SendInit(c, out, peer, 1)
		return func() error {
			return errors.Join(mpi.StartAll(r, s), mpi.WaitAll(r, s))
		}, err
	},
	"Irecv": func(c *mpi.Comm, out, in []byte, peer int) (func() error, error) {
		return func() error {
			r, err := mpi.Irecv(c, in, peer, 1)
			if err != nil {
				return err
			}
			s, err := mpi.Isend(c, out, peer, 1)
			return errors.Join(err, mpi.WaitAll(r, s))
		}, nil
	},
	"Sendrecv": func(c *mpi.Comm, out, in []byte, peer int) (func() error, error) {
		return func() error {
			_, err := mpi.Sendrecv(c, out, peer, 1, in, peer, 1)
			return err
		}, nil
	},
	"ping-pong": func(c *mpi.Comm, out, in []byte, peer int) (func() error, error) {
		return func() error {
			send := func() error { return mpi.Send(c, out, peer, 1) }
			recv := func() error {
				_, err := mpi.Recv(c, in, peer, 1)
				return err
			}
			if c.Rank() == 0 {
				return errors.Join(send(), recv())
			}
			return errors.Join(recv(), send())
		}, nil
	},
}

// standingDevices are the devices of which buffers can stand, with a size that goes so.
var standingDevices = map[string]int{"host": 100 << 10, "network": 100 << 10, "prototype": 1000}

func withStanding(t *testing.T, device string) []mpi.Option {
	if !slices.Contains(mpi.Variants(), "standing") {
		t.Skipf("this build has %s only", mpi.Variants())
	}
	return []mpi.Option{mpi.WithVariant("standing"), mpi.WithDevice(device)}
}

// In the steady state a message is one write, and no control message goes.
func TestStandingCounts(t *testing.T) {
	const before, rounds = 8, 100
	for device, size := range standingDevices {
		for name, how := range repetitions {
			t.Run(device+"/"+name, func(t *testing.T) {
				var counts [2]map[string]uint64
				err := mpi.Run(2, func(c *mpi.Comm) error {
					me := c.Rank()
					out, in := make([]byte, size), make([]byte, size)
					round, err := how(c, out, in, 1-me)
					if err != nil {
						return err
					}
					var first map[string]uint64
					for i := range before + rounds {
						if i == before {
							first = c.Counters()
						}
						for j := range out {
							out[j] = byte(i + j + 3*me)
						}
						if err := round(); err != nil {
							return err
						}
						for j := range in {
							if in[j] != byte(i+j+3*(1-me)) {
								return fmt.Errorf("round %d: byte %d is %d", i, j, in[j])
							}
						}
					}
					counts[me] = c.Counters()
					for k, v := range first {
						counts[me][k] -= v
					}
					return nil
				}, withStanding(t, device)...)
				require.NoError(t, err)
				for _, n := range counts {
					require.EqualValues(t, rounds, n["writes"])
					require.EqualValues(t, rounds, n["standing"])
					for k := variants.RTS; k < variants.Kinds; k++ {
						require.Zero(t, n[k.String()], k.String())
					}
				}
			})
		}
	}
}

// steady runs what two ranks do when one of them sends and the other receives so that each message is one write.
func steady(t *testing.T, device string, after func(c *mpi.Comm, out, in []byte) error) error {
	size := standingDevices[device]
	return mpi.Run(2, func(c *mpi.Comm) error {
		out, in := bytes.Repeat([]byte{1}, size), make([]byte, size)
		round, err := repetitions["Irecv"](c, out, in, 1-c.Rank())
		for i := 0; i < 6 && err == nil; i++ {
			err = round()
		}
		if err == nil && c.Counters()["standing"] == 0 {
			err = errors.New("no buffer stands")
		}
		if err != nil {
			return err
		}
		return after(c, out, in)
	}, withStanding(t, device)...)
}

// Another buffer, a cancelled receive and the end of the communicator: the buffers go back, and messages go on as they
// would without.
func TestStandingIsRevoked(t *testing.T) {
	for device, size := range standingDevices {
		revoked := func(c *mpi.Comm, n uint64) error { // the answer may come later
			for end := time.Now().Add(time.Minute); c.Counters()["Revoke"] < n; {
				if time.Now().After(end) {
					return fmt.Errorf("%d Revokes", c.Counters()["Revoke"])
				}
			}
			return nil
		}
		t.Run(device+"/another buffer", func(t *testing.T) {
			require.NoError(t, steady(t, device, func(c *mpi.Comm, out, in []byte) error {
				for i := range 10 {
					other := make([]byte, size)
					out[0] = byte(i)
					if _, err := mpi.Sendrecv(c, out, 1-c.Rank(), 1, other, 1-c.Rank(), 1); err != nil {
						return err
					}
					if !bytes.Equal(out, other) {
						return errors.New("another message")
					}
				}
				return revoked(c, 1)
			}))
		})
		t.Run(device+"/cancelled", func(t *testing.T) {
			require.NoError(t, steady(t, device, func(c *mpi.Comm, out, in []byte) error {
				r, err := mpi.Irecv(c, in, 1-c.Rank(), 1)
				if err != nil {
					return err
				}
				if err := r.Cancel(); err != nil {
					return err
				}
				st, err := r.Wait()
				if err = errors.Join(err, c.Barrier()); err != nil {
					return err
				}
				if !st.Cancelled() {
					return errors.New("received what nobody has sent")
				}
				round, err := repetitions["Irecv"](c, out, in, 1-c.Rank())
				return errors.Join(err, round(), round(), revoked(c, 1))
			}))
		})
		t.Run(device+"/freed", func(t *testing.T) {
			require.NoError(t, steady(t, device, func(c *mpi.Comm, out, in []byte) error {
				for i := range 3 {
					d, err := c.Dup()
					if err != nil {
						return err
					}
					round, err := repetitions["persistent"](d, out, in, 1-c.Rank())
					for j := 0; j < 6 && err == nil; j++ {
						err = round()
					}
					if err = errors.Join(err, d.Free(), revoked(c, uint64(i+1))); err != nil {
						return err
					}
				}
				return nil
			}))
		})
		t.Run(device+"/dead", func(t *testing.T) {
			gone := errors.New("gone")
			err := steady(t, device, func(c *mpi.Comm, out, in []byte) error {
				if c.Rank() == 1 {
					return gone
				}
				for {
					if err := mpi.Send(c, out, 1, 1); err != nil {
						require.ErrorIs(t, err, mpi.ErrProcFailed)
						break
					}
				}
				_, err := mpi.Recv(c, in, 1, 1)
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				return nil
			})
			require.ErrorIs(t, err, gone)
		})
	}
}
