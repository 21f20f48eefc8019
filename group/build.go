package group

// builder makes a group of ranks of the job that come one after the other. The
// ranks must be different.
type builder struct {
	runs []run
	size int32
}

func (b *builder) add(world int32) {
	if n := len(b.runs); n > 0 {
		switch last := &b.runs[n-1]; {
		case last.n == 1:
			last.stride = world - last.first
			fallthrough
		case world == last.first+last.n*last.stride:
			last.n++
			b.size++
			return
		}
	}
	b.runs = append(b.runs, run{at: b.size, first: world, stride: 1, n: 1})
	b.size++
}

// runSize is the size of a run in ranks of a table.
const runSize = 4

// group returns the group in the smaller of its forms.
func (b *builder) group() *Group {
	switch {
	case b.size == 0:
		return nil
	case len(b.runs) == 1 || len(b.runs)*runSize < int(b.size):
		return &Group{size: b.size, runs: append([]run(nil), b.runs...)}
	}
	g := &Group{size: b.size, runs: b.runs}
	table := make([]int32, 0, b.size)
	for w := range g.All() {
		table = append(table, w)
	}
	g.runs, g.table = nil, table
	return g
}

// Of is the group of a list of ranks of the job, which must be different.
func Of(worlds []int32) *Group {
	var b builder
	for _, w := range worlds {
		b.add(w)
	}
	return b.group()
}
