// Package stencil solves a linear system with the communication pattern of
// the HPCG benchmark, on ranks arranged in a three-dimensional grid.
//
// The matrix couples every point of a grid with its 26 neighbours: 26 on the
// diagonal, -1 off it, and zero beyond the boundary. The system is solved by
// conjugate gradients, so that one iteration has one halo exchange with up to
// 26 neighbours (six faces, twelve edges, eight corners) and two allreduces of
// one number. The pieces:
//
//	Layout   which part of the grid belongs to which rank
//	halo     packs, sends, receives and unpacks the surface of a rank's part
//	kernel   the arithmetic on one rank's part
//	Solver   conjugate gradients from the three above
//	Check    the same solve on one rank, without messages, and its comparison
//
// No iteration allocates.
package stencil

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrGrid is the error of a grid that cannot be laid out.
var ErrGrid = errors.New("unusable grid")

// maxPoints bounds the global grid: Check takes 80 bytes a point on rank 0.
const maxPoints = 1 << 28

// Layout says how a global grid is divided: every rank holds Local points, and
// Ranks of them stand along each axis. Index 0 is x, the axis along which
// points are contiguous in memory; ranks are numbered with x fastest too.
type Layout struct {
	Local [3]int
	Ranks [3]int
}

// NewLayout arranges ranks processes as cubically as their number allows, each
// with local points. The error wraps ErrGrid.
func NewLayout(ranks int, local [3]int) (Layout, error) {
	if ranks < 1 {
		return Layout{}, fmt.Errorf("%w: %d ranks", ErrGrid, ranks)
	}
	for _, n := range local {
		if n < 1 {
			return Layout{}, fmt.Errorf("%w: %d points along an axis, at least 1 is needed", ErrGrid, n)
		}
	}
	l := Layout{Local: local, Ranks: Factor(ranks)}
	if local[0] > maxPoints/local[1]/local[2]/ranks {
		return Layout{}, fmt.Errorf("%w: %d x %d x %d points on %d ranks are more than %d altogether", ErrGrid,
			local[0], local[1], local[2], ranks, maxPoints)
	}
	return l, nil
}

// Factor splits n into three factors with the least sum, the largest first:
// the least sum gives the least surface for a given volume.
func Factor(n int) [3]int {
	best := [3]int{n, 1, 1}
	for z := 1; z*z*z <= n; z++ {
		if n%z != 0 {
			continue
		}
		for y := z; y*y <= n/z; y++ {
			if (n/z)%y != 0 {
				continue
			}
			if x := n / z / y; x+y+z < best[0]+best[1]+best[2] {
				best = [3]int{x, y, z}
			}
		}
	}
	return best
}

// Size is the number of ranks.
func (l Layout) Size() int { return l.Ranks[0] * l.Ranks[1] * l.Ranks[2] }

// Points is the number of points of one rank.
func (l Layout) Points() int { return l.Local[0] * l.Local[1] * l.Local[2] }

// Global is the number of points of the whole grid along each axis.
func (l Layout) Global() [3]int {
	return [3]int{l.Local[0] * l.Ranks[0], l.Local[1] * l.Ranks[1], l.Local[2] * l.Ranks[2]}
}

// Whole is the layout of the same global grid on one rank.
func (l Layout) Whole() Layout { return Layout{Local: l.Global(), Ranks: [3]int{1, 1, 1}} }

// Place is the position of a rank in the grid of ranks.
func (l Layout) Place(rank int) [3]int {
	return [3]int{rank % l.Ranks[0], rank / l.Ranks[0] % l.Ranks[1], rank / l.Ranks[0] / l.Ranks[1]}
}

// Origin is the global index of a rank's first point.
func (l Layout) Origin(rank int) [3]int {
	p := l.Place(rank)
	return [3]int{p[0] * l.Local[0], p[1] * l.Local[1], p[2] * l.Local[2]}
}

// Neighbour is the rank one step from place in direction d (each component
// -1, 0 or 1), if the grid of ranks has one there.
func (l Layout) Neighbour(place, d [3]int) (rank int, ok bool) {
	for i := range 3 {
		place[i] += d[i]
		if place[i] < 0 || place[i] >= l.Ranks[i] {
			return 0, false
		}
	}
	return place[0] + l.Ranks[0]*(place[1]+l.Ranks[1]*place[2]), true
}

// ParseGrid reads a local grid: one number for a cube, or three as in 48x32x16.
// The error wraps ErrGrid.
func ParseGrid(s string) ([3]int, error) {
	parts := strings.Split(s, "x")
	if len(parts) != 1 && len(parts) != 3 {
		return [3]int{}, fmt.Errorf("%w: %q is neither N nor XxYxZ", ErrGrid, s)
	}
	var g [3]int
	for i := range g {
		n, err := strconv.Atoi(parts[i%len(parts)])
		if err != nil || n < 1 || n > 4096 {
			return [3]int{}, fmt.Errorf("%w: %q: sizes are whole numbers from 1 to 4096", ErrGrid, s)
		}
		g[i] = n
	}
	return g, nil
}
