package launch

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line of a part's own is heard, and what is before and behind it is passed on, wherever a very long line is passed
// on in pieces.
func TestWordsAreHeardBetweenPieces(t *testing.T) {
	const word = "WORWORD"
	line, before, behind := []byte(word+"{7}\n"), bytes.Repeat([]byte("x"), maxLine), []byte("WORWO\n")
	for cut := range len(line) + 1 {
		var out bytes.Buffer
		r := &relay{dst: &sink{w: &out}, word: []byte(word), heard: make(chan []byte, 1)}
		text := append(append(bytes.Clone(before[cut:]), line...), behind...)
		for _, piece := range [][]byte{text[:maxLine], text[maxLine:]} {
			r.buf = append(r.buf, piece...)
			require.NoError(t, r.passLines())
		}
		require.Len(t, r.heard, 1, cut)
		require.Equal(t, "{7}\n", string(<-r.heard), cut)
		require.True(t, bytes.Equal(append(bytes.Clone(before[cut:]), behind...), out.Bytes()), cut)
		require.Empty(t, r.buf)
	}
}
