package customized_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants/customized"
)

func TestBandsOf(t *testing.T) {
	b, err := customized.BandsOf("12K,40K")
	require.NoError(t, err)
	require.Equal(t, customized.Paper, b)
	again, err := customized.BandsOf(b.String())
	require.NoError(t, err)
	require.Equal(t, b, again)
	b, err = customized.BandsOf("0,1M")
	require.NoError(t, err)
	require.Equal(t, customized.Bands{Hybrid: 1 << 20}, b)
	for _, wrong := range []string{"", "12K", "12K,", ",40K", "40K,12K", "-1,5", "12K,40K,50K", "1x,2", "0,4096M"} {
		_, err := customized.BandsOf(wrong)
		require.ErrorContains(t, err, wrong, wrong)
	}
}
