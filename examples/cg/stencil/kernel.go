package stencil

// field is a rank's part of a vector with one more layer of points around it,
// which holds the neighbours' values, or zero at the boundary of the grid.
// Point (i, j, k) of the rank is at index (i+1, j+1, k+1).
type field struct {
	n   [3]int // points without the layer
	val []float64
}

func newField(n [3]int) field {
	return field{n: n, val: make([]float64, (n[0]+2)*(n[1]+2)*(n[2]+2))}
}

// row returns the points at (j, k), both counted with the layer, from end to
// end of the layer.
func (f field) row(j, k int) []float64 {
	w := f.n[0] + 2
	at := w * (j + (f.n[1]+2)*k)
	return f.val[at : at+w : at+w]
}

// apply computes out = A f and returns this rank's part of the product f·out.
// sums is scratch of one row.
//
// A point's row of A sums to 27 times the point less the sum of the 27 points
// around it; that sum is made from nine rows at once, and three of its
// neighbours' sums after that, instead of 27 terms a point.
func (f field) apply(out, sums []float64) (product float64) {
	nx := f.n[0]
	at := 0
	for k := 1; k <= f.n[2]; k++ {
		for j := 1; j <= f.n[1]; j++ {
			f.sumRows(sums, j, k)
			y := out[at : at+nx]
			at += nx
			x := f.row(j, k)[1:][:len(y)]
			left, mid, right := sums[:len(y)], sums[1:][:len(y)], sums[2:][:len(y)]
			for i := range y {
				v := 27*x[i] - (left[i] + mid[i] + right[i])
				y[i] = v
				product += x[i] * v
			}
		}
	}
	return product
}

// sumRows adds the nine rows around (j, k) into sums.
func (f field) sumRows(sums []float64, j, k int) {
	n := len(sums)
	a, b, c := f.row(j-1, k-1)[:n], f.row(j, k-1)[:n], f.row(j+1, k-1)[:n]
	d, e, g := f.row(j-1, k)[:n], f.row(j, k)[:n], f.row(j+1, k)[:n]
	p, q, r := f.row(j-1, k+1)[:n], f.row(j, k+1)[:n], f.row(j+1, k+1)[:n]
	for i := range sums {
		sums[i] = (a[i] + b[i] + c[i]) + (d[i] + e[i] + g[i]) + (p[i] + q[i] + r[i])
	}
}

// direct replaces f by r + beta f, the next search direction.
func (f field) direct(r []float64, beta float64) {
	nx := f.n[0]
	at := 0
	for k := 1; k <= f.n[2]; k++ {
		for j := 1; j <= f.n[1]; j++ {
			src := r[at : at+nx]
			at += nx
			dst := f.row(j, k)[1:][:len(src)]
			for i := range src {
				dst[i] = src[i] + beta*dst[i]
			}
		}
	}
}

// step moves the solution x by alpha along f and the residual r by alpha
// against q = A f, and returns this rank's part of r·r.
func (f field) step(x, r, q []float64, alpha float64) (product float64) {
	nx := f.n[0]
	at := 0
	for k := 1; k <= f.n[2]; k++ {
		for j := 1; j <= f.n[1]; j++ {
			xs, rs, qs := x[at:at+nx], r[at:at+nx], q[at:at+nx]
			at += nx
			p := f.row(j, k)[1:][:len(xs)]
			rs, qs = rs[:len(xs)], qs[:len(xs)]
			for i := range xs {
				xs[i] += alpha * p[i]
				v := rs[i] - alpha*qs[i]
				rs[i] = v
				product += v * v
			}
		}
	}
	return product
}

func dot(a, b []float64) (sum float64) {
	b = b[:len(a)]
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
