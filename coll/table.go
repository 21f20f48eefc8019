package coll

import "slices"

// Algorithm is a way to perform a collective.
type Algorithm struct {
	Name  string
	build func(*Schedule)
	// reorders: it combines ranks in another order than theirs, so the
	// operator has to commute.
	reorders bool
	// shared: it needs memory that all ranks share, see package coll/shm, which
	// performs it.
	shared bool
	// led: it has leaders, which can not serve every call.
	led bool
}

// serves reports whether it can serve a call, of which there is shared memory or not.
func (a *Algorithm) serves(c *Call, shared bool) bool {
	return (shared || !a.shared) && (!a.led || c.led())
}

// The names of the algorithms that need memory which all ranks share: the data go through
// it, or each rank reads what it wants where it is, see package coll/shm.
const (
	Shared = "shared"
	Direct = "direct"
)

// InMemory reports whether it is one of those.
func InMemory(algorithm string) bool { return algorithm == Shared || algorithm == Direct }

// algorithms are those of each collective; the first serves every call.
var algorithms = [Collectives][]Algorithm{
	Barrier:    {{Name: "dissemination", build: barrierDissemination}, {Name: "tree", build: barrierTree}},
	Bcast:      {{Name: "binomial", build: bcastBinomial}, {Name: "scatter_ring", build: bcastScatterRing}},
	Gather:     {{Name: "binomial", build: gatherBinomial}, {Name: "linear", build: gatherLinear}},
	Gatherv:    {{Name: "linear", build: gatherLinear}},
	Scatter:    {{Name: "binomial", build: scatterBinomial}, {Name: "linear", build: scatterLinear}},
	Scatterv:   {{Name: "linear", build: scatterLinear}},
	Allgather:  {{Name: "ring", build: allgatherRing}, {Name: "bruck", build: allgatherBruck}},
	Allgatherv: {{Name: "ring", build: allgatherRing}, {Name: "bruck", build: allgatherBruck}},
	Alltoall: {{Name: "pairwise", build: alltoallPairwise}, {Name: "linear", build: alltoallLinear},
		{Name: "bruck", build: alltoallBruck}},
	Alltoallv: {{Name: "pairwise", build: alltoallPairwise}, {Name: "linear", build: alltoallLinear}},
	Alltoallw: {{Name: "pairwise", build: alltoallPairwise}, {Name: "linear", build: alltoallLinear}},
	Reduce:    {{Name: "binomial", build: reduceBinomial}, {Name: "rabenseifner", build: reduceRabenseifner}},
	Allreduce: {{Name: "recursive_doubling", build: allreduceDoubling},
		{Name: "rabenseifner", build: allreduceRabenseifner}, {Name: "ring", build: allreduceRing, reorders: true},
		{Name: "tree", build: allreduceTree}},
	ReduceScatter: {{Name: "pairwise", build: reduceScatterPairwise},
		{Name: "halving", build: reduceScatterHalving, reorders: true}},
	ReduceScatterBlock: {{Name: "pairwise", build: reduceScatterPairwise},
		{Name: "halving", build: reduceScatterHalving, reorders: true}},
	Scan:               {{Name: "doubling", build: scanDoubling}, {Name: "linear", build: scanLinear}},
	Exscan:             {{Name: "doubling", build: exscanDoubling}, {Name: "linear", build: exscanLinear}},
	NeighborAllgather:  {{Name: "linear", build: neighborAllgather}},
	NeighborAllgatherv: {{Name: "linear", build: neighborAllgather}},
	NeighborAlltoall:   {{Name: "linear", build: neighborAlltoall}},
	NeighborAlltoallv:  {{Name: "linear", build: neighborAlltoall}},
	NeighborAlltoallw:  {{Name: "linear", build: neighborAlltoall}},
}

func init() {
	for _, c := range []Collective{Barrier, Bcast, Gather, Gatherv, Scatter, Scatterv, Allgather, Allgatherv, Alltoall,
		Alltoallv, Alltoallw, Reduce, Allreduce, ReduceScatter, ReduceScatterBlock, Scan, Exscan} {
		algorithms[c] = append(algorithms[c], Algorithm{Name: Shared, shared: true})
	}
	for _, c := range []Collective{Bcast, Gather, Scatter, Allgather, Allgatherv, Alltoall} {
		algorithms[c] = append(algorithms[c], Algorithm{Name: Direct, shared: true})
	}
	for c, build := range map[Collective]func(*Schedule){Barrier: allreduceLeaders, Bcast: bcastLeaders,
		Reduce: reduceLeaders, Allreduce: allreduceLeaders, Gather: gatherLeaders, Allgather: allgatherLeaders} {
		algorithms[c] = append(algorithms[c], Algorithm{Name: Leaders, build: build, led: true})
	}
	builtIn, _ = NewSelection("")
}

// builtIn is the built-in table.
var builtIn *Selection

// Algorithms returns those of a collective. The first serves every call.
func Algorithms(c Collective) []Algorithm { return algorithms[c] }

// Rule is a row of the table: which algorithm serves calls of at most Bytes
// bytes (see Call.Bytes) among at most Ranks ranks. 0 is no limit. Rows of
// algorithms that need shared memory are for blocking calls where there is such,
// those of Leaders for ranks on several hosts.
type Rule struct {
	Bytes, Ranks int
	Algorithm    string
	Line         int // of the table file that it comes from; 0: it is built in
}

// covers reports whether no call comes to a row behind this one.
func (r *Rule) covers(later *Rule) bool {
	within := func(n, limit int) bool { return limit == 0 || n != 0 && n <= limit }
	return within(later.Bytes, r.Bytes) && within(later.Ranks, r.Ranks) &&
		(need(r.Algorithm) == "" || need(r.Algorithm) == need(later.Algorithm))
}

// need tells rows apart that calls may pass over: those of memory, those of Leaders, and others, which none does.
func need(algorithm string) string {
	if algorithm == Direct {
		return Shared
	}
	if algorithm == Shared || algorithm == Leaders {
		return algorithm
	}
	return ""
}

// The switch points of Reduce and Allreduce are those of the thesis (chapter 4).
const (
	thesisReduce    = 2047
	thesisAllreduce = 2048
)

// rules are tried from the first on; where none fits, or there are none, the
// first algorithm of the collective does. What shared memory has no room for is read
// directly, if it can be (coll/shm).
var rules = [Collectives][]Rule{
	Barrier: {{Algorithm: Shared}, {Algorithm: Leaders}},
	Bcast: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 2, Algorithm: "binomial"},
		{Bytes: 64 << 10, Algorithm: Shared}, {Ranks: 16, Algorithm: Direct}, {Algorithm: Leaders}},
	Scatter: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 2, Algorithm: "linear"},
		{Ranks: 16, Algorithm: Direct}, {Ranks: 4, Algorithm: "linear"}},
	Reduce: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 2, Algorithm: "binomial"},
		{Bytes: 64 << 10, Algorithm: Shared}, {Algorithm: Leaders}, {Bytes: thesisReduce, Algorithm: "binomial"},
		{Algorithm: "rabenseifner"}},
	Allreduce: {{Bytes: 64 << 10, Algorithm: Shared}, {Algorithm: Leaders},
		{Bytes: thesisAllreduce, Algorithm: "recursive_doubling"}, {Ranks: 2, Algorithm: "recursive_doubling"},
		{Algorithm: "rabenseifner"}},
	Gather: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 2, Algorithm: "linear"},
		{Bytes: 64 << 10, Algorithm: Shared}, {Bytes: 4 << 10, Algorithm: Leaders},
		{Ranks: 64, Algorithm: "linear"}},
	Allgather: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 2, Algorithm: Direct},
		{Bytes: 64 << 10, Algorithm: Shared}, {Ranks: 16, Algorithm: Direct}, {Algorithm: Leaders},
		{Bytes: 32 << 10, Algorithm: "bruck"}, {Algorithm: "ring"}},
	Allgatherv: {{Bytes: 128 << 10, Algorithm: Shared}, {Ranks: 16, Algorithm: Direct},
		{Bytes: 128 << 10, Algorithm: "bruck"}, {Algorithm: "ring"}},
	Alltoall: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 16, Algorithm: Direct},
		{Bytes: 64, Algorithm: "bruck"}, {Ranks: 32, Algorithm: "linear"}, {Algorithm: "pairwise"}},
	Gatherv:   {{Algorithm: Shared}},
	Scatterv:  {{Algorithm: Shared}},
	Alltoallv: {{Algorithm: Shared}, {Ranks: 32, Algorithm: "linear"}, {Algorithm: "pairwise"}},
	Alltoallw: {{Algorithm: Shared}, {Ranks: 32, Algorithm: "linear"}, {Algorithm: "pairwise"}},
	ReduceScatter: {{Bytes: 64 << 10, Algorithm: Shared}, {Bytes: 512 << 10, Algorithm: "halving"},
		{Algorithm: "pairwise"}},
	ReduceScatterBlock: {{Bytes: 64 << 10, Algorithm: Shared}, {Bytes: 512 << 10, Algorithm: "halving"},
		{Algorithm: "pairwise"}},
	Scan: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 2, Algorithm: "linear"},
		{Bytes: 64 << 10, Algorithm: Shared}, {Ranks: 4, Algorithm: "linear"},
		{Algorithm: "doubling"}},
	Exscan: {{Bytes: 32 << 10, Algorithm: Shared}, {Ranks: 2, Algorithm: "linear"},
		{Bytes: 64 << 10, Algorithm: Shared}, {Ranks: 4, Algorithm: "linear"},
		{Algorithm: "doubling"}},
}

// Rules returns the rows of a collective that are built in. The last fits every call.
func Rules(c Collective) []Rule {
	return append(slices.Clone(rules[c]), Rule{Algorithm: algorithms[c][0].Name})
}

// BuiltIn returns the algorithms that the built-in table has for calls of so many bytes
// and ranks, if all are on one host: where there is shared memory, and elsewhere.
func BuiltIn(c Collective, bytes, ranks int) (shared, other string) {
	for _, r := range Rules(c) {
		if r.Bytes != 0 && bytes > r.Bytes || r.Ranks != 0 && ranks > r.Ranks || r.Algorithm == Leaders {
			continue
		}
		if shared == "" {
			shared = r.Algorithm
		}
		if !InMemory(r.Algorithm) {
			return shared, r.Algorithm
		}
	}
	return shared, other // not reached: the last row is for all calls
}
