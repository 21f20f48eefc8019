package mpi

import (
	"fmt"
	"slices"

	"github.com/exanet-mpi/exanet/topo"
)

// Topology is the kind of topology of a communicator (MPI_Topo_test).
type Topology int

// Kinds of topology.
const (
	NoTopology Topology = iota
	CartTopology
	GraphTopology
	DistGraphTopology
)

// Topology returns the kind of topology of the communicator.
func (c *Comm) Topology() Topology {
	if c == nil {
		return NoTopology
	}
	switch c.topology.(type) {
	case *topo.Cart:
		return CartTopology
	case *topo.Graph:
		return GraphTopology
	case *topo.Local:
		return DistGraphTopology
	}
	return NoTopology
}

// Graph makes a communicator whose first len(index) ranks are the nodes of a
// graph that all know (MPI_Graph_create): the neighbours of rank r are
// edges[index[r-1]:index[r]], of rank 0 edges[:index[0]]. All ranks of c call it
// with the same graph; those beyond the graph get nil. Ranks keep their order.
func (c *Comm) Graph(index, edges []int, reorder bool) (*Comm, error) {
	const op = "Graph"
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	g, err := topo.NewGraph(index, edges, c.size)
	if err != nil {
		return nil, c.fail(op, noValue, noValue, noValue, because(ErrArg, err),
			"give the end of each node's edges, and nodes of the graph")
	}
	return c.first(op, g.Size(), g)
}

// GraphGet returns the index and edges of the graph (MPI_Graph_get).
func (c *Comm) GraphGet() (index, edges []int, err error) {
	g, err := c.graph("GraphGet")
	if err != nil {
		return nil, nil, err
	}
	return slices.Clone(g.Index), slices.Clone(g.Edges), nil
}

// GraphNeighbours returns the neighbours of a rank of the graph
// (MPI_Graph_neighbors).
func (c *Comm) GraphNeighbours(rank int) ([]int, error) {
	g, err := c.graph("GraphNeighbours")
	if err != nil {
		return nil, err
	}
	n, err := g.Neighbours(rank)
	if err != nil {
		return nil, c.fail("GraphNeighbours", rank, noValue, noValue, because(ErrRank, err),
			"ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	return slices.Clone(n), nil
}

func (c *Comm) graph(op string) (*topo.Graph, error) {
	if err := c.usable(op); err != nil {
		return nil, err
	}
	g, ok := c.topology.(*topo.Graph)
	if !ok {
		return nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: it is no graph", ErrTopology),
			"use a communicator that Graph has made")
	}
	return g, nil
}

// Edges is what a rank knows of a distributed graph: whom it receives from and
// whom it sends to. Weights are nil if there are none (MPI_UNWEIGHTED).
type Edges = topo.Local

// DistGraphAdjacent makes a communicator with a graph of which each rank gives
// its own edges (MPI_Dist_graph_create_adjacent). All ranks of c call it. Ranks
// keep their order.
func (c *Comm) DistGraphAdjacent(mine Edges, reorder bool) (*Comm, error) {
	const op = "DistGraphAdjacent"
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	l, err := topo.NewLocal(mine, c.size)
	if err != nil {
		return nil, c.fail(op, noValue, noValue, noValue, because(ErrArg, err),
			"ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	return c.first(op, c.size, l)
}

// Edge is an edge of a graph, from one rank to another.
type Edge = topo.Edge

// DistGraph makes a communicator with a graph of which each rank gives any of
// the edges (MPI_Dist_graph_create). All ranks of c call it, with the same
// weighted. Ranks keep their order.
func (c *Comm) DistGraph(some []Edge, weighted, reorder bool) (*Comm, error) {
	const op = "DistGraph"
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	var bad error
	for _, e := range some {
		if min(e.From, e.To) < 0 || max(e.From, e.To) >= c.size || e.Weight < 0 {
			bad = c.fail(op, noValue, noValue, noValue,
				fmt.Errorf("%w: an edge from %d to %d of weight %d", ErrArg, e.From, e.To, e.Weight),
				"ranks of this communicator are 0 to "+itoa(c.size-1))
		}
	}
	all, err := c.everybody(op, 0).share(some, bad)
	if err != nil {
		return nil, err
	}
	return c.first(op, c.size, topo.FromEdges(c.Rank(), all, weighted))
}

const edgeWords = 3

// share gives every member the edges of all, in the order of the members. The
// tree's messages are of equal length, so a member sends as many edges at a
// time as the member with the most has.
func (t *team) share(some []Edge, err error) ([]Edge, error) {
	counts, err := t.Everyone([]int64{int64(len(some))}, err)
	if err != nil {
		return nil, err
	}
	most := int(slices.Max(counts))
	mine := make([]int64, most*edgeWords)
	for i, e := range some {
		copy(mine[i*edgeWords:], []int64{int64(e.From), int64(e.To), int64(e.Weight)})
	}
	words, err := t.Everyone(mine, nil)
	if err != nil {
		return nil, err
	}
	var all []Edge
	for i, n := range counts {
		for w := words[i*len(mine):][:n*edgeWords]; len(w) > 0; w = w[edgeWords:] {
			all = append(all, Edge{From: int(w[0]), To: int(w[1]), Weight: int(w[2])})
		}
	}
	return all, nil
}

// Neighbours returns whom the caller receives from and whom it sends to in the
// communicator's topology, in the order of the neighbourhood collectives
// (MPI_Dist_graph_neighbors). In a grid these are, for each dimension, the rank
// before and the rank behind; ProcNull beyond a border.
func (c *Comm) Neighbours() (sources, dests []int, err error) {
	e, err := c.Edges()
	return e.Sources, e.Dests, err
}

// Edges returns what Neighbours does, with weights.
func (c *Comm) Edges() (Edges, error) {
	if err := c.usable("Neighbours"); err != nil {
		return Edges{}, err
	}
	switch t := c.topology.(type) {
	case *topo.Cart:
		n, err := t.Neighbours(c.Rank())
		return Edges{Sources: n, Dests: n}, err
	case *topo.Graph:
		n, err := t.Neighbours(c.Rank())
		return Edges{Sources: n, Dests: n}, err
	case *topo.Local:
		return *t, nil
	}
	return Edges{}, c.fail("Neighbours", noValue, noValue, noValue, fmt.Errorf("%w: it has none", ErrTopology),
		"use a communicator that Cart, Graph or DistGraph has made")
}
