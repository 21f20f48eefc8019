package report

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/exanet-mpi/exanet/internal/atomicfile"
	"github.com/exanet-mpi/exanet/launch/preload"
)

// page writes the table, the plots that have been drawn, which are in the directory dir, and how
// all was measured.
func (r *results) page(dir string, drawn map[string][]byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s UTC with commit %s", r.When, r.Commit)
	if r.Baseline != "" {
		fmt.Fprintf(&b, ", and %s as the baseline", r.Baseline)
	}
	fmt.Fprintf(&b, ", on\n%s.\n", strings.Replace(r.Machine, ", ", ",\n", 1))
	if r.Network != "" {
		fmt.Fprintf(&b, "Between %s.\n", r.Network)
	}
	fmt.Fprintf(&b, "One run of `exanet bench report` (%s form, %d rounds, %s, load at its beginning %s).\n\n", r.Form,
		r.Rounds, r.Took, r.Load)
	r.writeTable(&b, r.rows())
	for _, name := range plotNames {
		if drawn[name] != nil {
			fmt.Fprintf(&b, "![](%s)\n", path.Join(dir, name))
		}
	}
	b.WriteString(how)
	where := howHere
	if r.Network != "" {
		where = howBetween
	}
	fmt.Fprintf(&b, "%s\n%s That happened %d times.\n", where, howMoves, r.Repeated)
	if r.Failures != nil {
		b.WriteString("\nRuns that have failed:\n\n")
		for _, f := range r.Failures {
			fmt.Fprintf(&b, "- %s, %s, round %d:\n  %s\n", f.Job, f.Way, f.Round+1, f.Why)
		}
	}
	return b.String()
}

const how = `
## How this was measured

Each program runs under each MPI as it is and with the library preloaded, in turn, there and back. A figure is the
median of its rounds, and a ratio that of two medians, ours first; means are geometric. A bound is kept, or not, only
if the middle half of the rounds is on that side of it; else it is noise. Other MPIs' runs of more than 20 s are not
repeated, and those that do not end in time count as if they had.

`

// howHere is about measurements on one host.
const howHere = `Applications and calls that enter Go (wildcards, probes, persistent requests, non-blocking
collectives) are held against the better MPI.
`

// howMoves is about runs of two ranks on one machine, which hosts may be namespaces of.
const howMoves = `The host of a virtual machine moves its processors, near to each other or apart, within seconds, and a
short message takes several times as long under every MPI. Runs of two ranks on one machine that have not found the
processors in the same place are made again.`

// ofFour is what the page about newer MPIs says of rows of four ranks.
const ofFour = `Rows of four ranks are by exanet preload. As in OSU's benchmarks there is a barrier behind each
collective. The ranks of Open MPI wait for each other in that barrier, and those of the library in a broadcast before
it: so rows of calls with a root are about both. With -genv LD_PRELOAD alone each rank of MPICH has a session of its own
([preload.md](preload.md)): short collectives of four ranks take a little longer then, but less time than under MPICH
5.0.2 alone.

`

// renderNewer writes the page about newer MPIs.
func (c *Config) renderNewer() error {
	var b strings.Builder
	b.WriteString("# Figures under newer MPIs\n\nAs [" + filepath.Base(c.Out) + ".md](" + filepath.Base(c.Out) +
		".md), in short, with the MPIs of newer Debians: make bench-today measures\nthem in roots of their own, and " +
		"exanet bench report --with writes this page.\n\n" + ofFour)
	for _, file := range c.With {
		r, err := load(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "## %s\n\nMeasured on %s UTC with commit %s, %d rounds:\n\n", r.versions(), r.When, r.Commit,
			r.Rounds)
		r.writeTable(&b, rowsOfNewer())
	}
	return atomicfile.WriteFile(c.Out+"-newer.md", []byte(strings.TrimRight(b.String(), "\n")+"\n"))
}

// versions are those of the MPIs.
func (r *results) versions() string {
	return r.Machine[max(0, strings.LastIndex(r.Machine, "MPICH")):]
}

func (r *results) writeTable(b *strings.Builder, rows []row) {
	against := "| what | bound | under MPICH | under Open MPI |"
	if r.Baseline != "" {
		against += " to the baseline |"
	}
	fmt.Fprintf(b, "%s |\n%s\n", against, strings.Repeat("|---", strings.Count(against, "|"))+"|")
	for _, x := range rows {
		cells := []cell{r.against(x, preload.MPICH), r.against(x, preload.OpenMPI)}
		if r.Baseline != "" {
			cells = append(cells, r.againstBaseline(x))
		}
		state := overall(cells)
		if state == unmeasured {
			continue
		}
		fmt.Fprintf(b, "| %s | %s |", x.what, x.text)
		for _, c := range cells {
			fmt.Fprintf(b, " %s |", strings.ReplaceAll(c.text, "|", "/"))
		}
		said := state.String()
		if x.tcp {
			said = "-"
		}
		fmt.Fprintf(b, " %s |\n", said)
	}
	b.WriteByte('\n')
}

// overall is the worst of what has been measured.
func overall(cells []cell) state {
	worst := unmeasured
	for _, c := range cells {
		if c.state != unmeasured && (worst == unmeasured || c.state > worst) {
			worst = c.state
		}
	}
	return worst
}
