package reproduce

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/check/chart"
	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
	"github.com/exanet-mpi/exanet/variants"
)

// messageChart is one fast receive.
type messageChart struct {
	variant  string
	image    string  // as the address of an image: a chart has a style sheet, which must not reach the page
	us       float64 // in MPI_Send
	messages uint64
}

// fastReceiveChart draws a transfer of 1 KiB whose receive is posted 5 us before the send.
func (l *lab) fastReceiveChart(variant string) (messageChart, error) {
	u := pair("chart", sameQFDB)
	u.variant, u.size = variant, 1024
	m, p, err := l.machine(u)
	if err != nil {
		return messageChart{}, err
	}
	t := &tracer{}
	var in time.Duration
	r, err := virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant, Seed: 1, Trace: true},
		func(c *mpi.Comm) error {
			buf := make([]byte, u.size)
			if c.Rank() == 1 {
				t.call(c, "Recv, 1 KiB")
				_, err := mpi.Recv(c, buf, 0, transferTag)
				t.call(c, "Recv returns")
				return err
			}
			c.Compute(5 * time.Microsecond)
			from := c.Now()
			t.call(c, "Send, 1 KiB")
			err := mpi.Send(c, buf, 1, transferTag)
			t.call(c, "Send returns")
			in = c.Now() - from
			return err
		})
	if err != nil {
		return messageChart{}, err
	}
	for _, e := range r.Trace {
		t.moments = append(t.moments, moment{at: e.At.Duration(), event: e})
	}
	svg := t.draw(chart.Chart{Names: []string{"sender", "receiver"}})
	return messageChart{variant, "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg)),
		microseconds(in), r.Messages}, nil
}

// moment is something that becomes a row.
type moment struct {
	at    time.Duration
	call  string // of rank; empty: an event
	rank  int
	event sim.Event
}

// tracer collects what happens in a simulation.
type tracer struct {
	moments []moment
	calls   int
}

func (t *tracer) call(c *mpi.Comm, text string) {
	t.calls++
	t.moments = append(t.moments, moment{at: c.Now(), call: text, rank: c.Rank()})
}

// draw makes the chart, with the time from the first call on in microseconds.
func (t *tracer) draw(c chart.Chart) string {
	slices.SortStableFunc(t.moments, func(a, b moment) int {
		// What a call has done comes before its return.
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(min(len(a.call), 1), min(len(b.call), 1)))
	})
	type end struct {
		kind sim.EventKind // with which it began
		id   uint32
	}
	under := map[end]int{}
	leave := func(at string, e sim.Event, kind chart.Kind, label string) {
		under[end{e.Kind, e.ID}] = c.Leave(at, chart.Arrow{Kind: kind, From: int(e.From), To: int(e.To), Label: label})
	}
	arrive := func(at string, e sim.Event, began sim.EventKind, label string) {
		if i, ok := under[end{began, e.ID}]; ok {
			delete(under, end{began, e.ID})
			c.Arrive(at, i, label)
		}
	}
	first, calls := time.Duration(-1), 0
	for _, m := range t.moments {
		if m.call != "" {
			calls++
		} else if calls == t.calls {
			break // the ranks leave
		}
		if first < 0 && m.call != "" {
			first = m.at
		}
		if first < 0 {
			continue // the ranks join
		}
		at, e := fmt.Sprintf("%.2f", float64(m.at-first)/1e3), m.event
		switch kind := variants.Unpack(e.Header).Kind.String(); {
		case m.call != "":
			c.Add(chart.Row{Time: at, Kind: chart.Call, Rank: m.rank, Text: m.call})
		case e.Kind == sim.Sent:
			leave(at, e, chart.Message, kind)
		case e.Kind == sim.Taken:
			arrive(at, e, sim.Sent, kind)
		case e.Kind == sim.Fetching:
			leave(at, e, chart.Message, "CTS, for the R5")
		case e.Kind == sim.Asked:
			arrive(at, e, sim.Fetching, "CTS, for the R5")
		case e.Kind == sim.Writing:
			leave(at, e, chart.Write, "write")
		case e.Kind == sim.Noticed:
			arrive(at, e, sim.Writing, "write")
		}
	}
	return c.SVG()
}
