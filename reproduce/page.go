package reproduce

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/internal/plots"
	"github.com/exanet-mpi/exanet/reproduce/skeleton"
)

//go:embed page.html
var pageText string

// partsText is what the pages have in common.
//
//go:embed parts.html
var partsText string

var pageTemplate = parsePage(pageText)

func parsePage(text string) *template.Template {
	return template.Must(template.Must(template.New("page").Parse(partsText)).Parse(text))
}

// page is what the report says.
type page struct {
	lab      *lab
	outcomes []Outcome
	plots    *[]plotted
	beyond   *beyond
	fit      *Fit
	overview string
	far      float64 // an eager message over five hops
}

// constantRow is one of the constants, for the table.
type constantRow struct {
	Name, Unit, Meaning, Source, Value string
}

type plotView struct {
	Heading, About string
	SVG            template.HTML
}

type chartView struct {
	Variant, Send string
	Messages      uint64
	Image         template.URL
}

type tally struct {
	Kind       string
	Agree, All int
	Percent    string
}

func (p *page) write(w io.Writer) error {
	kinds := func(match func(o Outcome) bool) []Outcome { return matching(p.outcomes, match) }
	calibration := kinds(func(o Outcome) bool { return o.Kind == Calibration })
	protocol := kinds(func(o Outcome) bool { return o.Kind == Prediction && !o.Allocation() })
	allocation := kinds(func(o Outcome) bool { return o.Kind == Prediction && o.Allocation() })
	exact := kinds(func(o Outcome) bool { return o.Kind == Exact })
	data := map[string]any{
		"Quick": p.lab.quick, "FitError": fmt.Sprintf("%.1f %%", 100*p.fit.Error), "Far": number(p.far),
		"Rule": template.HTML(Rule),
		"Tallies": []tally{
			count("exact", exact), count("predictions, all", slices.Concat(protocol, allocation)),
			count("predictions of the protocols", protocol),
			count("predictions that the text puts down to its memory pool", allocation),
			count("calibration (fitted)", calibration),
		},
		"Calibration": calibration, "Protocol": protocol, "Allocation": allocation, "Exact": exact,
		"NotScored": kinds(func(o Outcome) bool { return o.Kind == NotScored }),
		"Disagrees": kinds(func(o Outcome) bool { return o.Verdict == Disagrees }),
		"Fitted":    p.fitRows(),
		"Others":    p.otherRows(),
		"Plots":     views(*p.plots),
		"Skeletons": skeleton.Codes(),
		"Scales":    p.scaleRows(),
		"Overview":  template.HTML(p.overview), "BeyondPlots": views(p.beyond.plots),
		"Charts": p.charts(),
	}
	return pageTemplate.Execute(w, data)
}

func matching(outcomes []Outcome, match func(o Outcome) bool) (list []Outcome) {
	for _, o := range outcomes {
		if match(o) {
			list = append(list, o)
		}
	}
	return list
}

// count says how many of some rows agree.
func count(name string, list []Outcome) tally {
	t := tally{Kind: name, All: len(list), Agree: len(matching(list, func(o Outcome) bool {
		return o.Verdict == Agrees
	}))}
	t.Percent = fmt.Sprintf("%.0f %%", 100*float64(t.Agree)/float64(max(t.All, 1)))
	return t
}

// fitRows are the constants that are fitted.
func (p *page) fitRows() (rows []constantRow) {
	for _, c := range p.fit.Constants {
		rows = append(rows, constantRow{c.Name, c.Unit, c.Meaning, list(c.Rows), number(c.Value)})
	}
	return rows
}

// otherRows are the constants that are not.
func (p *page) otherRows() (rows []constantRow) {
	for _, c := range p.lab.costs.Table() {
		if !slices.Contains(fitted, c.Name) {
			rows = append(rows, constantRow{c.Name, c.Unit, c.Meaning, c.Source, number(*c.Value)})
		}
	}
	return rows
}

func views(list []plotted) (v []plotView) {
	for _, x := range list {
		heading := x.name
		if x.where != "" {
			heading = "Figure " + x.where + ": " + x.name
			if strings.ContainsAny(x.where, ", ") {
				heading = "Figures" + strings.TrimPrefix(heading, "Figure")
			}
		}
		v = append(v, plotView{heading, x.about, template.HTML(x.svg)})
	}
	return v
}

func (p *page) charts() (v []chartView) {
	for _, c := range p.beyond.charts {
		v = append(v, chartView{c.variant, number(c.us), c.messages, template.URL(c.image)})
	}
	return v
}

type scaleRow struct {
	Call, Machine, Bytes string
	Ranks                int
	Cells                []string
}

// scaleRows are the table of what the thesis could not run: microseconds, and messages a rank.
func (p *page) scaleRows() (rows []scaleRow) {
	for _, s := range p.beyond.scales {
		r := scaleRow{Call: s.call, Machine: s.machine, Ranks: s.ranks, Bytes: "-"}
		if s.bytes > 0 {
			r.Bytes = plots.SizeName(s.bytes)
		}
		for _, v := range latest {
			text := "-"
			if f, ok := s.figures[v]; ok {
				text = number(f.us)
			}
			r.Cells = append(r.Cells, text)
		}
		r.Cells = append(r.Cells, fmt.Sprintf("%+.0f %%", percent(s.figures[writeThree].us, s.figures[readbased].us)),
			strings.TrimSpace(fmt.Sprintf("%.1f / %.1f", float64(s.figures[readbased].messages)/float64(s.ranks),
				float64(s.figures[writeThree].messages)/float64(s.ranks))))
		rows = append(rows, r)
	}
	return rows
}
