// Package chart draws message charts, as text for terminals and test files and
// as SVG: ranks are vertical lines, time runs downwards, and every message,
// RDMA write and notification is an arrow from one line to another. It knows
// nothing of protocols; package check/scenario makes charts of scenarios.
package chart

// Kind is what an arrow stands for.
type Kind uint8

// The kinds of arrows.
const (
	Message Kind = iota // a control message: thin
	Write               // an RDMA write: thick
	Notice              // the notification of a write: dashed
)

// RowKind is what a row shows.
type RowKind uint8

// The kinds of rows.
const (
	Call    RowKind = iota // the program of a rank does something
	Leave                  // an arrow begins
	Arrive                 // an arrow ends
	Outcome                // a request completes, a probe returns
	Wrong                  // something happened that must not
)

// Row is one moment of one rank.
type Row struct {
	Time  string // as t1; often empty
	Kind  RowKind
	Rank  int
	Text  string
	Arrow int // Leave, Arrive: index into Arrows
}

// Arrow goes from a row to a later one.
type Arrow struct {
	Kind           Kind
	From, To       int // ranks
	FromRow, ToRow int // ToRow is -1 while it has not arrived
	Label          string
}

// Chart is a chart. The zero Chart with Names can be added to.
type Chart struct {
	Title  string
	Names  []string // of the ranks, left to right
	Rows   []Row
	Arrows []Arrow
}

// Add appends a row.
func (c *Chart) Add(r Row) { c.Rows = append(c.Rows, r) }

// Leave lets an arrow begin in a new row and returns its index.
func (c *Chart) Leave(time string, a Arrow) int {
	a.FromRow, a.ToRow = len(c.Rows), -1
	c.Arrows = append(c.Arrows, a)
	i := len(c.Arrows) - 1
	c.Add(Row{Time: time, Kind: Leave, Rank: a.From, Text: a.Label, Arrow: i})
	return i
}

// Arrive lets arrow i end in a new row. An arrow that has ended already, as a
// write that lands in pieces, ends a second time: a copy of it does.
func (c *Chart) Arrive(time string, i int, label string) {
	a := c.Arrows[i]
	if a.ToRow >= 0 {
		c.Arrows = append(c.Arrows, a)
		i = len(c.Arrows) - 1
	}
	c.Arrows[i].ToRow, c.Arrows[i].Label = len(c.Rows), label
	c.Add(Row{Time: time, Kind: Arrive, Rank: a.To, Text: label, Arrow: i})
}
