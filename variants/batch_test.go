package variants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABatchIsReadyOnceWhenItsLastRequestEnds(t *testing.T) {
	var r Ready
	var a, b Batch
	a.Open, b.Open = 2, 1
	b.ended() // nobody waits
	require.Zero(t, r.Len())
	a.ended()
	a.Await(&r)
	require.Zero(t, r.Len())
	a.ended()
	r.Push(&b)
	require.Equal(t, 2, r.Len())
	require.Same(t, &a, r.Pop())
	require.Same(t, &b, r.Pop())
	require.Zero(t, r.Len())
	a.Open = 1
	a.ended() // it waits once
	require.Zero(t, r.Len())
	r.Push(&b)
	require.Same(t, &b, r.Pop())
}
