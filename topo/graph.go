package topo

import (
	"errors"
	"fmt"
	"slices"
)

// ErrGraph: the description of a graph contradicts itself.
var ErrGraph = errors.New("invalid graph")

// Graph is a graph of which every rank knows all edges (MPI_Graph_create). Index
// and Edges are those of the standard: the neighbours of rank r are
// Edges[Index[r-1]:Index[r]], where Index[-1] stands for 0.
type Graph struct {
	Index, Edges []int
}

// NewGraph makes a graph of len(index) ranks, at most most.
func NewGraph(index, edges []int, most int) (*Graph, error) {
	if len(index) > most {
		return nil, fmt.Errorf("%w: %d nodes for %d ranks", ErrGraph, len(index), most)
	}
	last := 0
	for i, x := range index {
		if x < last || x > len(edges) {
			return nil, fmt.Errorf("%w: index[%d] is %d, with index %d before and %d edges", ErrGraph, i, x, last,
				len(edges))
		}
		last = x
	}
	if last != len(edges) {
		return nil, fmt.Errorf("%w: the indices end at %d of %d edges", ErrGraph, last, len(edges))
	}
	for _, e := range edges {
		if e < 0 || e >= len(index) {
			return nil, fmt.Errorf("%w: an edge to %d of %d nodes", ErrGraph, e, len(index))
		}
	}
	return &Graph{Index: slices.Clone(index), Edges: slices.Clone(edges)}, nil
}

// Size is the number of nodes.
func (g *Graph) Size() int { return len(g.Index) }

// Neighbours returns the neighbours of a rank (MPI_Graph_neighbors). The result
// belongs to the graph.
func (g *Graph) Neighbours(rank int) ([]int, error) {
	if rank < 0 || rank >= len(g.Index) {
		return nil, fmt.Errorf("%w: no node %d of %d", ErrGraph, rank, len(g.Index))
	}
	from := 0
	if rank > 0 {
		from = g.Index[rank-1]
	}
	return g.Edges[from:g.Index[rank]:g.Index[rank]], nil
}

// Local is a graph of which a rank knows its own edges only
// (MPI_Dist_graph_create_adjacent). Weights are nil if there are none.
type Local struct {
	Sources, SourceWeights []int
	Dests, DestWeights     []int
}

// NewLocal makes the part of a graph of n ranks that one rank knows.
func NewLocal(l Local, n int) (*Local, error) {
	for _, side := range []struct {
		name           string
		ranks, weights []int
	}{{"sources", l.Sources, l.SourceWeights}, {"destinations", l.Dests, l.DestWeights}} {
		if side.weights != nil && len(side.weights) != len(side.ranks) {
			return nil, fmt.Errorf("%w: %d weights for %d %s", ErrGraph, len(side.weights), len(side.ranks), side.name)
		}
		for _, r := range side.ranks {
			if r < 0 || r >= n {
				return nil, fmt.Errorf("%w: %d among the %s of a graph of %d", ErrGraph, r, side.name, n)
			}
		}
		for _, w := range side.weights {
			if w < 0 {
				return nil, fmt.Errorf("%w: a weight of %d", ErrGraph, w)
			}
		}
	}
	return &Local{
		Sources: slices.Clone(l.Sources), SourceWeights: slices.Clone(l.SourceWeights),
		Dests: slices.Clone(l.Dests), DestWeights: slices.Clone(l.DestWeights),
	}, nil
}

// Edge is an edge of a graph with its weight.
type Edge struct{ From, To, Weight int }

// FromEdges makes what a rank knows of a graph that is given as a list of
// edges (MPI_Dist_graph_create).
func FromEdges(rank int, edges []Edge, weighted bool) *Local {
	l := new(Local)
	for _, e := range edges {
		if e.From == rank {
			l.Dests = append(l.Dests, e.To)
			l.DestWeights = append(l.DestWeights, e.Weight)
		}
		if e.To == rank {
			l.Sources = append(l.Sources, e.From)
			l.SourceWeights = append(l.SourceWeights, e.Weight)
		}
	}
	if !weighted {
		l.SourceWeights, l.DestWeights = nil, nil
	}
	return l
}
