package report

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/internal/plots"
)

// page writes everything that there are figures for. Plots are in the directory dir.
func (s Set) page(dir string) string {
	var b strings.Builder
	s.writeVerdicts(&b)
	s.writeFloor(&b)
	s.writeOverSizes(&b, dir, "latency", "Latency", "Microseconds one way, a ping-pong of 2 ranks; `machine`: a message of that size without any MPI.", "latency.svg", latencyColumn, true)
	s.writeOverSizes(&b, dir, "bandwidth", "Bandwidth", "10^6 bytes a second, windows of 64 messages, one way.", "bandwidth.svg", bwColumn, false)
	s.writeOverSizes(&b, dir, "bandwidth", "Bandwidth both ways", "", "bibw.svg", bibwColumn, false)
	s.writeSingles(&b, "rate", "Message rate", "Messages of 8 bytes a second, windows of 64, 2 ranks.", "%.0f", map[string]column{"8 B": rateColumn}, []string{"8 B"})
	s.writeCalls(&b)
	s.writeCollectives(&b, dir)
	s.writeCrowd(&b, dir)
	s.writeSingles(&b, "idle", "A rank that waits", "Processor time in percent of a core, of all threads of a rank that is blocked in a call.", "%.2f", columnsByName(idleCalls, idleColumn), idleCalls)
	s.image(&b, dir, "idle.svg", "idle")
	s.writeSingles(&b, "wake", "Waking a rank", "Microseconds from sending a message of 8 bytes to a rank that has waited for a millisecond until its answer has come.", "%.2f", map[string]column{"8 B": wakeColumn}, []string{"8 B"})
	s.writeOverlap(&b, dir)
	s.writeUnexpected(&b)
	s.writeSingles(&b, "start", "Start and end", "Milliseconds in MPI_Init and MPI_Finalize, 2 ranks.", "%.1f", map[string]column{
		"both": startColumn, "MPI_Init": {"start", "initfini", "initfini", "Init (ms)"}, "MPI_Finalize": {"start", "initfini", "initfini", "Finalize (ms)"},
	}, []string{"both", "MPI_Init", "MPI_Finalize"})
	s.writeMany(&b)
	s.writeHow(&b)
	return b.String()
}

func columnsByName(names []string, f func(string) column) map[string]column {
	m := map[string]column{}
	for _, n := range names {
		m[n] = f(n)
	}
	return m
}

func (s Set) writeVerdicts(b *strings.Builder) {
	b.WriteString("## Bounds, and what was measured\n\nRatios are those of a program with the library preloaded to the same program without, medians of the rounds; means are geometric. Where the bound is against the better of the two, both columns are against that one.\n\n" +
		"| what | bound | against MPICH | against Open MPI | |\n|---|---|---|---|---|\n")
	for _, v := range s.verdicts() {
		text := map[string]string{}
		for _, c := range v.cells {
			text[c.against] = c.text
		}
		first, second := text[mpichAlone], text[openmpiAlone]
		if own, ok := text[inGo]; ok {
			first = own
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", v.what, v.bound, first, second, v.state())
	}
	b.WriteByte('\n')
}

func (s Set) image(b *strings.Builder, dir, file, section string) {
	if s[section] != nil {
		fmt.Fprintf(b, "![](%s)\n\n", path.Join(dir, file))
	}
}

// heading begins a part about a section; false if it was not measured.
func (s Set) heading(b *strings.Builder, section, title, about string) bool {
	if s[section] == nil {
		return false
	}
	fmt.Fprintf(b, "## %s\n\n", title)
	if about != "" {
		b.WriteString(about + "\n\n")
	}
	return true
}

func (s Set) writeFloor(b *strings.Builder) {
	if !s.heading(b, "floor", "What the machine can do", "Between two processes, without any MPI (`exanet bench floor`).") {
		return
	}
	b.WriteString("| | | |\n|---|---|---|\n")
	for i := range s["floor"].Figures {
		if f := &s["floor"].Figures[i]; f.Job == "floor" && f.Table != runTable {
			fmt.Fprintf(b, "| %s | %s | %s |\n", f.Table, number(f.median()), f.Column)
		}
	}
	b.WriteByte('\n')
}

// writeOverSizes writes the table of a column, a line for each size.
func (s Set) writeOverSizes(b *strings.Builder, dir, section, title, about, plot string, c column, floor bool) {
	if !s.heading(b, section, title, about) {
		return
	}
	s.image(b, dir, plot, section)
	if floor {
		head(b, "machine")
	} else {
		head(b)
	}
	for _, size := range s.sizes(c) {
		fmt.Fprintf(b, "| %s |", plots.SizeName(size))
		if floor {
			fmt.Fprintf(b, " %s |", number(s.floorTime(size)))
		}
		s.cells(b, c, size, number)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// head begins a table with the figures of each MPI, ours under it and their ratio, behind other
// columns.
func head(b *strings.Builder, others ...string) {
	b.WriteString("| |")
	for _, name := range others {
		fmt.Fprintf(b, " %s |", name)
	}
	for _, o := range opponents {
		fmt.Fprintf(b, " %s | %s | ratio |", o.alone, o.ours)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(others)+3*len(opponents)) + "\n")
}

// cells writes the figures of a size, and our ratio to each MPI.
func (s Set) cells(b *strings.Builder, c column, size int, number func(float64) string) {
	for _, o := range opponents {
		alone := s.one(c.section, c.job, o.alone, c.table, c.column, size)
		ours := s.one(c.section, c.job, o.ours, c.table, c.column, size)
		r := ""
		if alone != nil && ours != nil {
			r = ratioName(ratio(ours, alone))
		}
		fmt.Fprintf(b, " %s | %s | %s |", orNone(alone, number), orNone(ours, number), r)
	}
}

func orNone(f *Figure, number func(float64) string) string {
	if f == nil {
		return "-"
	}
	return number(f.median())
}

// number writes three digits or more.
func number(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// sizes are those that a column has in any way, in order.
func (s Set) sizes(c column) (list []int) {
	seen := map[int]bool{}
	for _, way := range fourWays {
		for _, f := range s.series(c, way) {
			if !seen[f.Size] {
				seen[f.Size] = true
				list = append(list, f.Size)
			}
		}
	}
	return list
}

// writeSingles writes a line for each of some columns with one figure.
func (s Set) writeSingles(b *strings.Builder, section, title, about, format string, columns map[string]column, names []string) {
	if !s.heading(b, section, title, about) {
		return
	}
	fmt.Fprintf(b, "| | %s |\n|---|%s\n", strings.Join(fourWays, " | "), strings.Repeat("---|", len(fourWays)))
	for _, name := range names {
		fmt.Fprintf(b, "| %s |", name)
		for _, way := range fourWays {
			text := "-"
			if list := s.series(columns[name], way); list != nil {
				text = fmt.Sprintf(format, list[0].median())
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// writeCalls writes the forms of calls that no other section looks at.
func (s Set) writeCalls(b *strings.Builder) {
	if !s.heading(b, "calls", "Other calls", "Microseconds for a message that 2 ranks pass each other in turn, or both at once, by the call that is named, or waited for by it; of Ibcast, one from either. Data that are used have been written just before, and are read at once, which is in the figure; those of other forms, as of OSU, nobody touches.") {
		return
	}
	head(b)
	for _, form := range forms {
		c := column{"calls", "calls", "calls, " + form, "Latency (us)"}
		for _, size := range s.sizes(c) {
			fmt.Fprintf(b, "| %s, %s |", form, plots.SizeName(size))
			s.cells(b, c, size, number)
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
}

// writeCollectives writes the extremes of each; the plot has the means.
func (s Set) writeCollectives(b *strings.Builder, dir string) {
	if !s.heading(b, "collectives", "Collectives of 2 ranks", "Ratios over the sizes from 8 B to 1 MiB; microseconds of the smallest and the largest.") {
		return
	}
	s.image(b, dir, "collectives.svg", "collectives")
	b.WriteString("| |")
	for _, o := range opponents {
		fmt.Fprintf(b, " %s | %s | mean ratio | worst |", o.alone, o.ours)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", 8) + "\n")
	for _, name := range collectives {
		c := collectiveColumn("collectives", "2 ranks", name)
		fmt.Fprintf(b, "| %s |", name)
		for _, o := range opponents {
			list, _ := s.points(c, o.ours, s.against(c, o.alone))
			if list == nil {
				b.WriteString(" - | - | - | - |")
				continue
			}
			worst := list[0]
			for _, p := range list {
				if p.ratio > worst.ratio {
					worst = p
				}
			}
			place := ratioName(worst.ratio)
			if len(list) > 1 {
				place += " at " + worst.at
			}
			fmt.Fprintf(b, " %s | %s | %s | %s |", ends(s.series(c, o.alone)), ends(s.series(c, o.ours)), ratioName(meanRatio(list)), place)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	s.writeExchanges(b)
}

// writeExchanges holds the collectives in which each rank gives and takes against what the machine
// needs for that.
func (s Set) writeExchanges(b *strings.Builder) {
	sizes := slices.DeleteFunc(s.sizes(collectiveColumn("collectives", "2 ranks", exchanges[0])), func(size int) bool {
		return size < 16<<10 || s.exchangeTime(size) == 0
	})
	if len(sizes) == 0 {
		return
	}
	b.WriteString("Those in which both ranks give and take; `machine`: the same copies without any MPI.\n\n")
	head(b, "machine")
	for _, name := range exchanges {
		for _, size := range sizes {
			fmt.Fprintf(b, "| %s, %s | %s |", name, plots.SizeName(size), number(s.exchangeTime(size)))
			s.cells(b, collectiveColumn("collectives", "2 ranks", name), size, number)
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
}

// ends are the first and the last figure.
func ends(list []*Figure) string {
	first, last := list[0], list[len(list)-1]
	if first == last {
		return number(first.median())
	}
	return number(first.median()) + " to " + number(last.median())
}

func (s Set) writeCrowd(b *strings.Builder, dir string) {
	if !s.heading(b, "crowd", "More ranks than cores", "Microseconds.") {
		return
	}
	for _, ranks := range []int{4, 8} {
		s.image(b, dir, fmt.Sprintf("crowd%d.svg", ranks), "crowd")
	}
	head(b)
	for _, ranks := range []int{4, 8} {
		for _, name := range append(append([]string{}, crowded...), crowdedRooted...) {
			c := collectiveColumn("crowd", fmt.Sprintf("%d ranks", ranks), name)
			sizes := s.sizes(c)
			for i, size := range sizes {
				if i > 0 && i < len(sizes)-1 && size != 1024 {
					continue // the plot and the bounds have those that are between
				}
				place := name
				if size > 0 {
					place += ", " + plots.SizeName(size)
				}
				fmt.Fprintf(b, "| %d ranks, %s |", ranks, place)
				s.cells(b, c, size, number)
				b.WriteByte('\n')
			}
		}
	}
	b.WriteByte('\n')
	s.writeCrowdFloor(b)
}

// writeCrowdFloor says what processes without any MPI need.
func (s Set) writeCrowdFloor(b *strings.Builder) {
	begun := false
	for _, ranks := range []int{4, 8} {
		name := crowdFloor(ranks)
		c := column{"crowd", name, "exanet bench floor, " + name, "Shared (us)"}
		for _, f := range s.series(c, inGo) {
			if !begun {
				b.WriteString("Plain programs that pass each other blocks with as few hand-overs of the cores as can be, in a session each as MPICH's launcher alone gives its ranks, so that they sleep to hand them over (`exanet bench floor --ranks 8 --sizes 8:65536`): 8 B is about what a call takes for which every rank has to run, the others are an alltoall. Ranks that yield, or fit the caches better, may be faster.\n\n| | through shared memory | by attach |\n|---|---|---|\n")
				begun = true
			}
			attach := "-"
			if a := s.one("crowd", name, inGo, c.table, "Attach (us)", f.Size); a != nil && a.median() > 0 {
				attach = number(a.median())
			}
			fmt.Fprintf(b, "| %s, %s | %s | %s |\n", name, plots.SizeName(f.Size), number(f.median()), attach)
		}
	}
	if begun {
		b.WriteByte('\n')
	}
}

func (s Set) writeOverlap(b *strings.Builder, dir string) {
	columns := columnsByName(overlapCalls, excessColumn)
	names := append(append([]string{}, overlapCalls...), "both ranks compute")
	columns["both ranks compute"] = column{"overlap", "computing", "computing", "Excess (us)"}
	s.writeSingles(b, "overlap", "Communication under computation",
		"Microseconds that a transfer of 1 MiB and a computation of about four times its length take beyond the computation: the peer of Irecv and Isend waits meanwhile for its end, and has begun its receive before; or both ranks compute.", "%.1f", columns, names)
	s.image(b, dir, "overlap.svg", "overlap")
}

func (s Set) writeUnexpected(b *strings.Builder) {
	if !s.heading(b, "unexpected", "Unexpected messages", "Milliseconds for sending so many messages of 8 bytes and then receiving them in reverse order of their tags.") {
		return
	}
	fmt.Fprintf(b, "| | %s |\n|---|%s\n", strings.Join(fourWays, " | "), strings.Repeat("---|", len(fourWays)))
	for _, size := range s.sizes(manyColumn) {
		fmt.Fprintf(b, "| %d |", size)
		for _, way := range fourWays {
			f := s.one(manyColumn.section, manyColumn.job, way, manyColumn.table, manyColumn.column, size)
			fmt.Fprintf(b, " %s |", orNone(f, func(us float64) string { return number(us / 1e3) }))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// writeMany writes what many ranks cost.
func (s Set) writeMany(b *strings.Builder) {
	if !s.heading(b, "scale", "Many ranks", "On the cores of this machine. Seconds for the whole job; KiB that a rank takes, shared pages in parts, before and after each has sent a message to each; microseconds.") {
		return
	}
	b.WriteString("| | | job | memory | all pairs | barrier | allreduce, 8 B |\n|---|---|---|---|---|---|---|\n")
	for _, ranks := range many(false) {
		job := fmt.Sprintf("%d ranks", ranks)
		for _, way := range fourWays {
			one := func(table, column string) string {
				list := s.all("scale", job, way, table, column)
				if list == nil {
					return "-"
				}
				return number(list[0].median())
			}
			if seconds := one(runTable, runSeconds); seconds != "-" {
				fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", job, way, seconds, one("memory", "Barrier (KiB)"), one("memory", "All pairs (KiB)"),
					one("barrier", "Avg Latency(us)"), one("allreduce", "Avg Latency(us)"))
			}
		}
	}
	b.WriteByte('\n')
}

// trips are the least and the greatest of a cache line's, before runs.
func (r *Results) trips() string {
	least, most := math.Inf(1), 0.0
	for _, f := range r.Figures {
		if f.Table == runTable && f.Column == runTrip {
			least, most = min(least, slices.Min(f.Repeats)), max(most, slices.Max(f.Repeats))
		}
	}
	if most == 0 {
		return ""
	}
	return number(least) + " to " + number(most)
}

// repeats is how often runs were repeated, and in how many places for nothing.
func (r *Results) repeats() string {
	switch {
	case r.Moved > 0:
		return fmt.Sprintf("%d, %d for nothing", r.Repeated, r.Moved)
	case r.Repeated > 0:
		return strconv.Itoa(r.Repeated)
	}
	return ""
}

// writeHow tells of each section when and where it was measured, and what has failed.
func (s Set) writeHow(b *strings.Builder) {
	b.WriteString("## How this was measured\n\n`exanet bench report` runs the same programs (bench/osu) under each MPI without and with the library, in turn, there and back. " +
		"The figures are medians of the rounds; all of them are beside the plots. Of the other MPIs, what takes more than a minute is run once. The load is that of the machine, over a minute, when the section began: above 1, figures say little.\n\n" +
		"Many figures depend on how far the two processors are from each other, which the host of a virtual machine changes within seconds. There a cache line's trip is measured before and behind each run; " +
		"if it has grown or shrunk to " + number(moved) + " times, the runs that are compared are made again, up to " + strconv.Itoa(tries-1) + " times in a round. The last column counts that, over all rounds.\n\n")
	b.WriteString("| section | form | rounds | when (UTC) | load | took | cache line, ns | made again |\n|---|---|---|---|---|---|---|---|\n")
	machines := map[string]bool{}
	var failures []string
	var list []string
	for _, section := range sections {
		r := s[section.name]
		if r == nil {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s | %s |\n", r.Section, r.Form, r.Rounds, r.When, r.Load, r.Took, r.trips(), r.repeats())
		if !machines[r.Machine] {
			machines[r.Machine] = true
			list = append(list, r.Machine)
		}
		for _, f := range r.Failures {
			failures = append(failures, fmt.Sprintf("- %s, %s, round %d: %s", f.Job, f.Way, f.Round+1, f.Why))
		}
	}
	fmt.Fprintf(b, "\nMachine: %s.\n", strings.Join(list, "; "))
	if failures != nil {
		fmt.Fprintf(b, "\nRuns without figures:\n\n%s\n", strings.Join(failures, "\n"))
	}
}
