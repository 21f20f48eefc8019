package auto_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/auto"
)

// The rule alone, without messages.

func request(peer int32, size int) *variants.Request {
	return &variants.Request{Ctx: &variants.Context{}, Peer: peer, Buf: make([]byte, size)}
}

// A long message meets a silent receive at most once for so many RTRs that were in vain, whatever comes.
func TestSilenceIsEarned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := auto.Rule{Silence: rapid.IntRange(1, 60).Draw(t, "silence"), Late: 1, Crossed: 1}
		h, r := auto.New(rule), request(1, large)
		inVain, wrong := 0, 0
		for range rapid.IntRange(1, 20).Draw(t, "bursts") {
			eager := rapid.Bool().Draw(t, "eager")
			for range rapid.IntRange(1, 200).Draw(t, "times") {
				r.Silent = h.Silent(r)
				r.Advertised = !r.Silent
				switch {
				case eager:
					h.TookEager(r)
					if r.Advertised {
						inVain++
					}
				case r.Silent:
					wrong++
				}
			}
			require.LessOrEqual(t, wrong*rule.Silence, inVain)
		}
	})
}

// A choice to copy is not changed by fewer events than the rule says, and it is that of one peer and size alone.
func TestCopiesDoNotFlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := auto.Rule{Silence: 1, Late: rapid.IntRange(1, 20).Draw(t, "late"), Crossed: rapid.IntRange(1, 8).Draw(t,
			"crossed")}
		h, r := auto.New(rule), request(1, large)
		copies, since := false, 0
		for _, event := range rapid.SliceOfN(rapid.SampledFrom([]string{"late", "late", "late", "early", "crossed"}), 1,
			300).Draw(t, "events") {
			switch event {
			case "late":
				h.SenderFirst(r)
			case "early":
				h.ReceiverFirst(r)
			case "crossed":
				h.BothAtOnce(r)
			}
			since++
			if h.Copies(r) == copies {
				continue
			}
			least := rule.Late
			if copies {
				least = (rule.Late + rule.Crossed - 1) / rule.Crossed
			}
			require.GreaterOrEqual(t, since, least)
			require.Equal(t, !copies, event == "late")
			copies, since = !copies, 0
		}
		require.False(t, h.Copies(request(2, large)))
		require.False(t, h.Copies(request(1, 2*large)))
	})
}

// Of a send whose receive is never posted, as one that is cancelled, nothing is known.
func TestNothingIsToldOfNothing(t *testing.T) {
	h, r := auto.New(auto.Default), request(1, large)
	require.False(t, h.Copies(r))
	told := func() (lines []string) {
		h.Lines(func(line string) { lines = append(lines, line) })
		return lines
	}
	require.Empty(t, told())
	h.SenderFirst(r)
	require.Len(t, told(), 1)
	h.Close(r.Ctx)
	require.Empty(t, told())
}
