package chart

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// example has every kind of row and arrow, and a message that does not arrive.
func example() *Chart {
	c := &Chart{Title: strings.Repeat("a long title & more ", 20), Names: []string{"S", "R", "Q"}}
	c.Add(Row{Time: "t1", Rank: 1, Text: "r1 recv"})
	m := c.Leave("", Arrow{Kind: Message, From: 1, To: 0, Label: "RTR <T1>"})
	c.Leave("", Arrow{Kind: Message, From: 1, To: 2, Label: "lost"})
	c.Arrive("t2", m, "RTR <T1>")
	w := c.Leave("", Arrow{Kind: Write, From: 0, To: 1, Label: "write"})
	c.Arrive("", w, "half")
	c.Arrive("", w, "half")
	c.Arrows = append(c.Arrows, Arrow{Kind: Notice, From: 0, To: 1, FromRow: len(c.Rows) - 1, ToRow: -1})
	c.Arrive("", len(c.Arrows)-1, "notice")
	c.Add(Row{Kind: Outcome, Rank: 1, Text: "complete"})
	c.Add(Row{Kind: Wrong, Rank: 0, Text: "wrong"})
	return c
}

func TestText(t *testing.T) {
	want := `      S                                           R                                           Q
t1    │                                           ○ r1 recv                                   │
      │                                           ├ RTR <T1> to S                             │
      │                                           ├ lost to Q                                 │
t2    │◀─────────────── RTR <T1> ─────────────────│                                           │
      ╞ starts write                              │                                           │
      │══════════════════ half ══════════════════▶│                                           │
      │══════════════════ half ══════════════════▶│                                           │
      │╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ notice ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌▶│                                           │
      │                                           ● complete                                  │
      ✗ wrong                                     │                                           │
`
	require.Equal(t, want, example().Text(0))
	require.Empty(t, example().Text(100))
}

// The drawing is well-formed, names everything, and stays inside its frame.
func TestSVG(t *testing.T) {
	svg := example().SVG()
	d := xml.NewDecoder(strings.NewReader(svg))
	count := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			count[e.Name.Local]++
		}
	}
	c := example()
	require.Equal(t, len(c.Arrows)+len(c.Names), count["line"])
	require.Equal(t, len(c.Arrows)-1, count["path"], "a head for each arrow that arrives")
	require.Contains(t, svg, "RTR &lt;T1&gt;")
	require.NotContains(t, svg, "NaN")
}
