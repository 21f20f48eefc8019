package stencil

// exact is the known solution at a point of a global grid of n points: a fixed
// sequence in [-1, 1) without symmetry or smoothness, so that halo data that
// arrive in the wrong place, or late, change the result.
func exact(i, j, k int, n [3]int) float64 {
	// The generator is splitmix64 (Steele, Lea and Flood 2014).
	v := uint64(i) + uint64(n[0])*(uint64(j)+uint64(n[1])*uint64(k))
	v = (v + 1) * 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	v ^= v >> 31
	return float64(int64(v)) / (1 << 63)
}

// rightHandSide returns a rank's part of A times the known solution. Since the
// solution is known everywhere, it needs no messages, and the part of a rank
// is bit for bit the same as that region of the whole grid's.
func rightHandSide(l Layout, rank int) []float64 {
	n, origin := l.Global(), l.Origin(rank)
	f := newField(l.Local)
	for k := range l.Local[2] + 2 {
		for j := range l.Local[1] + 2 {
			row := f.row(j, k)
			for i := range row {
				x, y, z := origin[0]+i-1, origin[1]+j-1, origin[2]+k-1
				if x >= 0 && y >= 0 && z >= 0 && x < n[0] && y < n[1] && z < n[2] {
					row[i] = exact(x, y, z, n)
				}
			}
		}
	}
	rhs := make([]float64, l.Points())
	f.apply(rhs, make([]float64, l.Local[0]+2))
	return rhs
}
