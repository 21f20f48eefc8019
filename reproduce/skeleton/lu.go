package skeleton

// LU is NAS LU: symmetric successive over-relaxation by wavefronts. Ranks share a grid of 64
// points a side in two dimensions. In an iteration, a wavefront runs over the planes of the third dimension from the
// first rank to the last, then one back: for each plane a rank receives 5 values a point of the
// edge from two neighbours, computes, and sends to the other two. Then the right-hand
// side: faces of two layers with all neighbours.
//
// Of the computation the right-hand side is taken for a third, and each sweep for a third.
var LU = &Code{
	Name:  "LU",
	About: "class A: 64 x 64 x 64 points",
	Check: powerOfTwo,
	Work:  func(int) float64 { return luSide * luSide * luSide },
	Buffer: func(ranks int) int {
		d := halved(ranks, 2)
		return 10 * double * luSide * (luSide / min(d[0], d[1]))
	},
	begin: func(r *rank) (func() error, error) {
		d := halved(r.comm.Size(), 2)
		me := r.comm.Rank()
		row, col := me%d[0], me/d[0]
		l := &lu{r: r, nx: luSide / d[0], ny: luSide / d[1], north: -1, south: -1, west: -1, east: -1}
		if row > 0 {
			l.north = me - 1
		}
		if row < d[0]-1 {
			l.south = me + 1
		}
		if col > 0 {
			l.west = me - d[0]
		}
		if col < d[1]-1 {
			l.east = me + d[0]
		}
		return l.step, nil
	},
}

const luSide = 64

type lu struct {
	r                        *rank
	nx, ny                   int
	north, south, east, west int
}

func (l *lu) step() error {
	return all(
		func() error { return l.sweep(l.north, l.west, l.south, l.east) },
		func() error { return l.sweep(l.south, l.east, l.north, l.west) },
		l.rightHandSide,
	)
}

// sweep receives edges of each inner plane from two sides and sends to the others.
func (l *lu) sweep(fromX, fromY, toX, toY int) error {
	x, y := 5*double*l.ny, 5*double*l.nx
	for range luSide - 2 {
		if err := l.r.recv(x, fromX); err != nil {
			return err
		}
		if err := l.r.recv(y, fromY); err != nil {
			return err
		}
		l.r.work(float64(l.nx*l.ny) / 3)
		if err := l.r.send(x, toX); err != nil {
			return err
		}
		if err := l.r.send(y, toY); err != nil {
			return err
		}
	}
	return nil
}

func (l *lu) rightHandSide() error {
	x, y := 10*double*l.ny*luSide, 10*double*l.nx*luSide
	err := all(
		func() error { return l.shift(x, l.north, l.south) },
		func() error { return l.shift(x, l.south, l.north) },
		func() error { return l.shift(y, l.west, l.east) },
		func() error { return l.shift(y, l.east, l.west) },
	)
	l.r.work(float64(l.nx*l.ny*luSide) / 3)
	return err
}

func (l *lu) shift(bytes, from, to int) error {
	return all(
		func() error { return l.r.irecv(bytes, from) },
		func() error { return l.r.send(bytes, to) },
		l.r.wait,
	)
}
