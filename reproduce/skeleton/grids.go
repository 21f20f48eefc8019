package skeleton

import (
	"fmt"
	"math"
	"math/bits"
)

func powerOfTwo(ranks int) error {
	if ranks < 1 || bits.OnesCount(uint(ranks)) != 1 {
		return fmt.Errorf("needs a power of two of ranks: %d", ranks)
	}
	return nil
}

func anyRanks(ranks int) error {
	if ranks < 1 {
		return fmt.Errorf("needs ranks: %d", ranks)
	}
	return nil
}

// halved distributes a power of two of ranks over n dimensions, as the NAS codes do: the last
// dimensions get the larger parts.
func halved(ranks, n int) []int {
	dims := make([]int, n)
	for i := range dims {
		dims[i] = 1
	}
	for i := n - 1; ranks > 1; ranks /= 2 {
		dims[i] *= 2
		i = (i + n - 1) % n
	}
	return dims
}

// boxed distributes ranks over three dimensions so that boxes of the given extents have the
// least surface, as LAMMPS does. Among equals the first found counts.
func boxed(ranks int, extent [3]float64) [3]int {
	var best [3]int
	least := math.Inf(1)
	for x := 1; x <= ranks; x++ {
		if ranks%x != 0 {
			continue
		}
		for y := 1; y <= ranks/x; y++ {
			if ranks/x%y != 0 {
				continue
			}
			z := ranks / x / y
			a, b, c := extent[0]/float64(x), extent[1]/float64(y), extent[2]/float64(z)
			if s := a*b + b*c + a*c; s < least*(1-1e-9) {
				best, least = [3]int{x, y, z}, s
			}
		}
	}
	return best
}

// place is where a rank is in a grid whose first dimension varies fastest.
func place(rank int, dims [3]int) [3]int {
	return [3]int{rank % dims[0], rank / dims[0] % dims[1], rank / dims[0] / dims[1]}
}

// at is the rank of a place; -1 outside unless the grid is periodic.
func at(p, dims [3]int, periodic bool) int {
	for i := range p {
		if periodic {
			p[i] = (p[i] + dims[i]) % dims[i]
		} else if p[i] < 0 || p[i] >= dims[i] {
			return -1
		}
	}
	return p[0] + dims[0]*(p[1]+dims[1]*p[2])
}
