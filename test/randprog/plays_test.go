package randprog

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/mpi/inside"
	"github.com/exanet-mpi/exanet/packetizer"
)

// play is a protocol as the tests run it: with the programs that it takes, and
// with the events that must occur in them.
type play struct {
	name    string
	variant string
	level   mpi.ThreadLevel
	paired  bool // programs that keep the assumptions of optimistic
	counted bool
	likely  bool     // to the protocol standing every receive repeats the last
	device  string   // "": the default
	covers  []string // counters of MPI
}

var plays = []play{
	{name: "ticket", variant: "ticket", level: mpi.ThreadMultiple, covers: []string{"fast_receives", "crossings",
		"stale_rtrs", "lifted", "truncations", "cancels_granted", "cancels_refused", "no_credit"}},
	{name: "customized", variant: "customized", level: mpi.ThreadMultiple, covers: []string{"copies", "fast_receives",
		"crossings", "truncations", "cancels_granted", "no_credit"}},
	{name: "auto", variant: "auto", level: mpi.ThreadMultiple, covers: []string{"fast_receives", "crossings",
		"stale_rtrs", "lifted", "truncations", "cancels_granted", "cancels_refused", "no_credit"}},
	{name: "standing", variant: "standing", level: mpi.ThreadMultiple, likely: true, covers: []string{"standing",
		"Stand", "Revoke", "Revoked", "crossings", "truncations", "cancels_granted", "no_credit"}},
	{name: "standing-prototype", variant: "standing", level: mpi.ThreadMultiple, likely: true, device: "prototype",
		covers: []string{"standing", "Stand", "Freed", "Revoke", "Revoked", "crossings", "truncations",
			"cancels_granted", "cancels_refused"}},
	{name: "readbased", variant: "readbased", level: mpi.ThreadMultiple, covers: []string{
		"writes", "truncations", "cancels_granted", "cancels_refused", "no_credit"}},
	{name: "rtr", variant: "rtr", level: mpi.ThreadMultiple, covers: []string{
		"fast_receives", "crossings", "lifted", "truncations", "cancels_granted", "cancels_refused", "no_credit"}},
	{name: "envless", variant: "envless", level: mpi.ThreadMultiple, covers: []string{
		"fast_receives", "crossings", "lifted", "truncations", "cancels_granted", "cancels_refused", "no_credit"}},
	// With one thread at a time envless leaves out the Env, as in the thesis.
	{name: "envless-serialized", variant: "envless", level: mpi.ThreadSerialized, covers: []string{
		"fast_receives", "crossings", "lifted", "truncations", "cancels_granted", "cancels_refused", "no_credit"}},
	{name: "optimistic", variant: "optimistic", level: mpi.ThreadMultiple, paired: true, covers: []string{
		"fast_receives", "truncations", "cancels_granted", "cancels_refused"}},
	// Nothing is cancelled and no tag left open, so every match is checked by
	// the protocol itself.
	{name: "optimistic-counted", variant: "optimistic", level: mpi.ThreadMultiple, paired: true, counted: true,
		covers: []string{"fast_receives", "truncations"}},
}

// playNamed returns a play, or nil.
func playNamed(name string) *play {
	for i := range plays {
		if plays[i].name == name {
			return &plays[i]
		}
	}
	return nil
}

// rules are those of the play on the device that the environment names.
func (p *play) rules() Rules {
	if !p.paired {
		return Rules{}
	}
	r := Rules{Eager: host.DefaultLimit, Counted: p.counted}
	if d := os.Getenv("EXANET_DEVICE"); d != "" && d != "host" && d != "network" {
		r.Eager = packetizer.PayloadLimit
	}
	return r
}

func (p *play) options() []mpi.Option {
	opts := []mpi.Option{mpi.WithVariant(p.variant), mpi.WithThreadLevel(p.level)}
	if p.likely {
		opts = append(opts, inside.MPI.(*inside.Functions[mpi.Comm, mpi.Request, mpi.Message, mpi.Option]).WithLikely())
	}
	if p.device != "" {
		opts = append(opts, mpi.WithDevice(p.device))
	}
	return opts
}

// requireCoverage asks for so many of each event of the play.
func (p *play) requireCoverage(t *testing.T, n map[string]uint64, times uint64) {
	t.Helper()
	for _, name := range p.covers {
		require.GreaterOrEqual(t, n[name], times, name)
	}
}

func TestPlaysHaveAllProtocols(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range plays {
		seen[p.variant] = true
	}
	for _, v := range mpi.Variants() {
		require.True(t, seen[v], v)
	}
	require.NotNil(t, playNamed(mpi.DefaultVariant))
}
