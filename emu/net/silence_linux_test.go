package net

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/packetizer"
)

func TestSilence(t *testing.T) {
	t.Setenv(env.Silence, "1h") // the kernel and the watchers do nothing of all this meanwhile
	f := ends(t, 2)
	f[1].delay = time.Hour // is for other ends
	const look = time.Hour / looksWithin
	f[1].attend(look)
	sent := uint64(0)
	for range 3 {
		for range 3 { // as after a stop: what may have come in that time is not known
			f[1].attend(24 * time.Hour)
		}
		for range 10 {
			f[1].attend(look)
		}
		f[1].Next()
		require.False(t, f[1].Dead(0))
		sent++
		require.True(t, f[0].TrySend(1, packetizer.Header{0, 0, sent}, nil))
		for {
			if h, _, ok := f[1].Next(); ok {
				require.Equal(t, sent, h[2])
				f[1].Release()
				break
			}
		}
		f[1].attend(look)
	}
	for range looksWithin {
		f[1].attend(look)
	}
	requireLost(t, f[1], 0, "nothing has come from the host of rank 0 for 1h0m0s: see whether the network or that "+
		"host is down")
	requireLost(t, f[0], 1, "the connection to rank 1 has ended: see how that rank has ended") // if it can hear
}

func TestSilenceLimit(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": DefaultSilence, "2s": 2 * time.Second, "1m30s": 90 * time.Second,
	} {
		t.Setenv(env.Silence, text)
		d, err := SilenceLimit()
		require.NoError(t, err)
		require.Equal(t, want, d)
	}
	for _, text := range []string{"5", "0", "1s", "-5s", "soon"} {
		t.Setenv(env.Silence, text)
		_, err := SilenceLimit()
		require.EqualError(t, err, `EXANET_SILENCE="`+text+`": want a time of at least 2s, as 30s`)
	}
}
