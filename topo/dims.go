package topo

import (
	"fmt"
	"math"
	"slices"
)

// Dims completes the dimensions of a grid of n ranks (MPI_Dims_create):
// those given as 0 are chosen so that the product is n. They are as close to
// each other as any choice is, the largest and the smallest first of all, and
// come in order, the largest first.
func Dims(n int, given []int) ([]int, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: a grid of %d ranks", ErrDims, n)
	}
	rest, free := n, 0
	for _, d := range given {
		switch {
		case d < 0:
			return nil, fmt.Errorf("%w: a dimension of %d", ErrDims, d)
		case d == 0:
			free++
		case rest%d != 0:
			return nil, fmt.Errorf("%w: %d ranks are no multiple of the dimensions given in %v", ErrDims, n, given)
		default:
			rest /= d
		}
	}
	if free == 0 && rest != 1 {
		return nil, fmt.Errorf("%w: the grid %v has not %d ranks", ErrDims, given, n)
	}
	chosen := balanced(rest, free)
	out := slices.Clone(given)
	for i, d := range out {
		if d == 0 {
			out[i], chosen = chosen[0], chosen[1:]
		}
	}
	return out, nil
}

// balanced splits n into k factors, the largest first, with the least
// difference between the largest and the smallest; among those, with the least
// largest one, and so on.
func balanced(n, k int) []int {
	if k == 0 {
		return nil
	}
	s := search{divisors: divisors(n), spread: math.MaxInt, at: make([]int, k)}
	s.choose(n, 0)
	return s.best
}

// search tries factors from the smallest that may be the largest of what is
// left upwards, and gives up where the spread can only be worse.
type search struct {
	divisors []int
	spread   int
	at, best []int
}

func (s *search) choose(n, i int) {
	left := len(s.at) - i
	if left == 1 {
		if i > 0 && n > s.at[i-1] {
			return
		}
		s.at[i] = n
		if spread := s.at[0] - n; spread < s.spread {
			s.spread, s.best = spread, slices.Clone(s.at)
		}
		return
	}
	start, _ := slices.BinarySearch(s.divisors, root(n, left))
	for _, d := range s.divisors[start:] {
		if i > 0 && d > s.at[i-1] {
			return
		}
		if n%d != 0 || !s.covers(d, n, left) {
			continue
		}
		s.at[i] = d
		if s.at[0]-root(n/d, left-1) >= s.spread {
			if i == 0 {
				return // larger first factors leave smaller ones
			}
			continue
		}
		s.choose(n/d, i+1)
	}
}

// covers reports whether left factors of at most d can make n.
func (s *search) covers(d, n, left int) bool {
	for range left {
		n = (n + d - 1) / d
	}
	return n <= 1
}

// root is the largest integer whose k-th power is at most n: no smallest
// of k factors is larger.
func root(n, k int) int {
	r := int(math.Round(math.Pow(float64(n), 1/float64(k))))
	for power(r, k) > n {
		r--
	}
	for power(r+1, k) <= n {
		r++
	}
	return r
}

// power is x to the k, or the largest int if that is larger.
func power(x, k int) int {
	p := 1
	for range k {
		if p > math.MaxInt/x {
			return math.MaxInt
		}
		p *= x
	}
	return p
}

// divisors lists the divisors of n in order.
func divisors(n int) (low []int) {
	var high []int
	for d := 1; d <= n/d; d++ {
		if n%d == 0 {
			low = append(low, d)
			if d != n/d {
				high = append(high, n/d)
			}
		}
	}
	slices.Reverse(high)
	return append(low, high...)
}
