package skeleton

// MG is NAS MG: V-cycles of a multigrid method on a periodic cube of 256 points a side, shared in three
// dimensions. On each level the borders are exchanged three times an iteration (after the residual, the smoother
// and the restriction), four times on the finest, dimension after dimension: receives from both
// sides are posted, both faces sent, both received. On coarse levels that have fewer points than there are
// ranks in a dimension, only every second, fourth ... rank takes part.
var MG = &Code{
	Name:   "MG",
	About:  "class B: 256 x 256 x 256 points",
	Check:  powerOfTwo,
	Buffer: func(int) int { return double * (mgSide + 2) * (mgSide + 2) },
	Work:   func(int) float64 { return mgSide * mgSide * mgSide },
	begin: func(r *rank) (func() error, error) {
		m := &mg{r: r}
		copy(m.dims[:], halved(r.comm.Size(), 3))
		m.place = place(r.comm.Rank(), m.dims)
		return m.step, nil
	},
}

const mgSide, mgLevels = 256, 8

type mg struct {
	r           *rank
	dims, place [3]int
}

// step is a V-cycle: down, up, and the residual.
func (m *mg) step() error {
	for level := mgLevels; level > 1; level-- { // restrict
		if err := m.operate(level-1, 1); err != nil {
			return err
		}
	}
	for level := 1; level <= mgLevels; level++ { // prolong, residual, smooth
		if level > 1 {
			if err := m.operate(level, 1); err != nil {
				return err
			}
		}
		if err := m.operate(level, 1); err != nil {
			return err
		}
	}
	return m.operate(mgLevels, 1)
}

// operate computes on a level, and exchanges its borders. The points of all calls of an
// iteration are those of the finest level.
func (m *mg) operate(level int, share float64) error {
	side := 1 << level
	var n, stride [3]int
	for i := range n {
		n[i], stride[i] = side/m.dims[i], 1
		if n[i] == 0 {
			n[i], stride[i] = 1, m.dims[i]/side
		}
		if m.place[i]%stride[i] != 0 {
			return nil
		}
	}
	m.r.work(share * float64(n[0]*n[1]*n[2]) / mgOperations)
	for i := range n {
		a, b := n[(i+1)%3], n[(i+2)%3]
		// Borders that have been exchanged already go with the next dimension's faces.
		switch i {
		case 1:
			b += 2
		case 2:
			a, b = a+2, b+2
		}
		if err := m.border(i, stride[i], a*b*double); err != nil {
			return err
		}
	}
	return nil
}

// mgOperations is how many operations on the finest level an iteration has the time of: 3 there, and
// the coarser levels with 3/8 + 3/64 ...
const mgOperations = 3 + 3./8*(8./7)

func (m *mg) border(dim, stride, bytes int) error {
	if m.dims[dim] == 1 || stride >= m.dims[dim] {
		return nil // both neighbours are this rank: a copy
	}
	up, down := m.place, m.place
	up[dim] += stride
	down[dim] -= stride
	above, below := at(up, m.dims, true), at(down, m.dims, true)
	return all(
		func() error { return m.r.irecv(bytes, above) },
		func() error { return m.r.irecv(bytes, below) },
		func() error { return m.r.send(bytes, below) },
		func() error { return m.r.send(bytes, above) },
		m.r.wait,
	)
}
