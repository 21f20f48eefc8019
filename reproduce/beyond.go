package reproduce

import (
	"fmt"
	"time"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/internal/plots"
	"github.com/exanet-mpi/exanet/mpi"
)

// beyond is what the thesis could not run.
type beyond struct {
	scales []scale
	charts []messageChart
	plots  []plotted
}

// scale is one collective at one size of machine.
type scale struct {
	call    string
	ranks   int
	machine string
	bytes   int
	figures map[string]scaledFigure
}

// scaledFigure is what the table shows of a variant.
type scaledFigure struct {
	us       float64
	messages uint64
	fast     float64
}

// site is a machine and how many ranks are on it.
type site struct {
	ranks, perNode int
	torus          sim.Torus
}

func (p site) String() string {
	t := p.torus
	each := "1 rank an FPGA"
	if p.perNode > 1 {
		each = fmt.Sprintf("%d ranks an FPGA", p.perNode)
	}
	return fmt.Sprintf("%d x %d x %d QFDBs, %s", t.X, t.Y, t.Z, each)
}

// places are the prototype as the thesis used it and with all its cores, and machines that there are not.
func (l *lab) places() []site {
	list := []site{
		{128, 1, sim.Prototype().Torus},
		{512, 4, sim.Prototype().Torus},
		{4096, 4, sim.Torus{X: 8, Y: 8, Z: 4}},
	}
	if !l.quick {
		list = append(list, site{65536, 4, sim.Torus{X: 16, Y: 16, Z: 16}})
	}
	return list
}

var beyondCalls = []struct {
	name  string
	sizes []int
}{{"barrier", []int{0}}, {"bcast", []int{8, 1024}}, {"allreduce", []int{8, 1024}}}

func (l *lab) beyondTasks() (*beyond, []task) {
	b := new(beyond)
	var tasks []task
	for _, p := range l.places() {
		for _, call := range beyondCalls {
			for _, size := range call.sizes {
				i := len(b.scales)
				b.scales = append(b.scales, scale{call: call.name, ranks: p.ranks, machine: p.String(), bytes: size})
				tasks = append(tasks, task{fmt.Sprintf("%s of %d ranks", call.name, p.ranks), func() (err error) {
					b.scales[i].figures, err = l.scaled(setup{bench: call.name, topology: inOrder, ranks: p.ranks,
						perNode: p.perNode, size: size, torus: p.torus})
					return err
				}})
			}
		}
	}
	b.charts = make([]messageChart, len(allVariants))
	for i, v := range allVariants {
		tasks = append(tasks, task{"chart of " + v, func() (err error) {
			b.charts[i], err = l.fastReceiveChart(v)
			return err
		}})
	}
	b.plots = make([]plotted, 2)
	tasks = append(tasks,
		task{"where ticket stops winning", func() (err error) {
			b.plots[0], err = l.drawAdvantage()
			return err
		}},
		task{"what a late receiver costs", func() (err error) {
			b.plots[1], err = l.drawLateness()
			return err
		}})
	return b, tasks
}

func (l *lab) scaled(u setup) (map[string]scaledFigure, error) {
	m := map[string]scaledFigure{}
	variants := latest
	if u.ranks >= manyRanks {
		variants = variants[:2]
	}
	for _, v := range variants {
		u.variant = v
		f, err := l.measure(u)
		if err != nil {
			return nil, err
		}
		m[v] = scaledFigure{f.value, f.messages, fastShare(f)}
	}
	return m, nil
}

// drawAdvantage shows how much faster ticket is over sizes, by distance and by whether the receive is posted first.
func (l *lab) drawAdvantage() (plotted, error) {
	s := &sheet{lab: l}
	sizes := s.sizes(64, 1<<20)
	styles := []plots.Style{style(readbased), style(writeThree), style(optimistic), style(writeTwo)}
	var curves []plots.Curve
	end := ""
	for i, c := range []struct{ name, bench, topology string }{
		{"ping-pong, one QFDB", "latency", sameQFDB}, {"ping-pong, 5 hops", "latency", hops5},
		{"fast receive, one QFDB", "fastrecv", sameQFDB}, {"fast receive, 5 hops", "fastrecv", hops5},
	} {
		k := plots.Curve{Style: styles[i]}
		k.Name = c.name
		least := 0
		for j, p := range s.against(pair(c.bench, c.topology), sizes, readbased, writeThree) {
			if p < 1 && least == 0 {
				least = sizes[j]
			}
			k.Points = append(k.Points, plotter.XY{X: float64(sizes[j]), Y: max(p, 0.1)})
		}
		curves = append(curves, k)
		switch {
		case least > 0:
			end += fmt.Sprintf("%s: below 1 %% from %s on. ", c.name, plots.SizeName(least))
		default:
			end += fmt.Sprintf("%s: above 1 %% up to %s. ", c.name, plots.SizeName(sizes[len(sizes)-1]))
		}
	}
	if s.err != nil {
		return plotted{}, s.err
	}
	p := plots.OverSizes("How much longer readbased takes than ticket, percent", "%", curves)
	p.Legend.Top = false
	return finish("", "How much longer readbased takes than ticket",
		end+"What ticket saves is control messages: a constant time for each transfer, whatever its size, which the "+
			"transfer's own time outgrows.", p)
}

// lateness is how late the receiver is, in units of 1 us.
var lateness = []int{-16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16}

// drawLateness shows a message of 1 KiB whose receive is posted before or after the send.
func (l *lab) drawLateness() (plotted, error) {
	var curves []plots.Curve
	for _, v := range latest {
		c := plots.Curve{Style: style(v)}
		for _, late := range lateness {
			us, err := l.late(v, 1024, time.Duration(late)*time.Microsecond)
			if err != nil {
				return plotted{}, err
			}
			c.Points = append(c.Points, plotter.XY{X: float64(late), Y: us})
		}
		curves = append(curves, c)
	}
	const title = "1 KiB from the moment both have posted until both have returned"
	p := plots.New(title, "us")
	p.X.Label.Text = "the receiver posts so many us after the sender"
	for _, c := range curves {
		line, err := plotter.NewLine(c.Points)
		if err != nil {
			return plotted{}, err
		}
		line.Color, line.Dashes, line.Width = c.Colour, c.Dashes, vg.Points(1.5)
		p.Add(line)
		p.Legend.Add(c.Name, line)
	}
	p.Y.Min = 0
	p.Y.Max *= 1.3 // room for the legend
	return finish("", title, "To the left of 0 the receive is posted first: a fast receive, as soon as the RTR has "+
		"had the time to arrive. "+
		"To the right ticket begins with an RTS and needs a CTS as readbased does, and saves the Ack alone.", p)
}

// late is of a message the time from the later of the two posts to the later of the two returns, in microseconds.
func (l *lab) late(variant string, size int, late time.Duration) (float64, error) {
	var posted, done [2]time.Duration
	u := pair("late", sameQFDB)
	u.variant, u.size = variant, size
	_, err := l.run(u, func(c *mpi.Comm) error {
		me := c.Rank()
		if err := c.Barrier(); err != nil {
			return err
		}
		until := time.Millisecond // the clocks of a simulation are one
		if me == 1 {
			until += late
		}
		c.Compute(until - c.Now())
		posted[me] = c.Now()
		buf := make([]byte, u.size)
		var err error
		if me == 0 {
			err = mpi.Send(c, buf, 1, transferTag)
		} else {
			_, err = mpi.Recv(c, buf, 0, transferTag)
		}
		done[me] = c.Now()
		return err
	})
	return microseconds(max(done[0], done[1]) - max(posted[0], posted[1])), err
}
