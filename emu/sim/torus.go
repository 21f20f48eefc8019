package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// FPGAs of a QFDB, and processor cores of an FPGA (thesis 2.5).
const (
	PerQFDB = 4
	Cores   = 4
)

// Torus is the shape of the network between QFDBs: a three-dimensional torus, in which each QFDB
// has four FPGAs that are connected all to all (thesis 2.5). The links of the torus
// end at the first FPGA of a QFDB, through which the messages of the others go.
//
// FPGAs are numbered x first, then y, then z, then the place in the QFDB:
// 4*(x+X*(y+Y*z)) + place.
type Torus struct{ X, Y, Z int }

// mostNodes is as many FPGAs as there are ranks in a job, at one rank each.
const mostNodes = 1 << 18

// ParseTorus reads a shape as "4x4x2".
func ParseTorus(s string) (Torus, error) {
	parts := strings.Split(s, "x")
	var n [3]int
	ok := len(parts) == 3
	for i := 0; ok && i < 3; i++ {
		v, err := strconv.Atoi(parts[i])
		n[i], ok = v, err == nil && v > 0
	}
	t := Torus{n[0], n[1], n[2]}
	if !ok || n[0] > mostNodes || n[1] > mostNodes || n[2] > mostNodes || t.X*t.Y > mostNodes || t.Nodes() > mostNodes {
		return Torus{}, fmt.Errorf("%q is no torus: give three numbers of QFDBs, as 4x4x2, at most %d FPGAs together",
			s, mostNodes)
	}
	return t, nil
}

func (t Torus) String() string { return fmt.Sprintf("%dx%dx%d", t.X, t.Y, t.Z) }

// Nodes is the number of FPGAs.
func (t Torus) Nodes() int { return PerQFDB * t.X * t.Y * t.Z }

// Links: of each FPGA one to each of the other three of its QFDB, and then six of
// each QFDB, + and - in each dimension.
const (
	insideLinks  = PerQFDB - 1
	outsideLinks = 6
)

func (t Torus) links() int { return t.Nodes()*insideLinks + t.Nodes()/PerQFDB*outsideLinks }

// insideLink is the number of the link between two FPGAs of a QFDB.
func (t Torus) insideLink(from, to int32) int32 {
	return from*insideLinks + (to-from+PerQFDB)%PerQFDB - 1
}

func (t Torus) outsideLink(qfdb int32, dim, way int) int32 {
	return int32(t.Nodes()*insideLinks) + qfdb*outsideLinks + int32(2*dim+way)
}

// ends returns the FPGAs at the ends of a link, and whether it is inside a QFDB.
func (t Torus) ends(link int32) (from, to int32, inside bool) {
	if n := int32(t.Nodes() * insideLinks); link >= n {
		q := (link - n) / outsideLinks
		dim, way := int(link-n)%outsideLinks/2, int(link-n)%2
		return q * PerQFDB, t.step(q, dim, way) * PerQFDB, false
	}
	from = link / insideLinks
	place := (from + link%insideLinks + 1) % PerQFDB
	return from, from/PerQFDB*PerQFDB + (place+PerQFDB)%PerQFDB, true
}

// step is the neighbour of a QFDB, way 0 up and 1 down.
func (t Torus) step(q int32, dim, way int) int32 {
	size, stride := [3]int32{int32(t.X), int32(t.Y), int32(t.Z)}, [3]int32{1, int32(t.X), int32(t.X * t.Y)}
	at := q / stride[dim] % size[dim]
	next := at + 1 - 2*int32(way)
	next = (next + size[dim]) % size[dim]
	return q + (next-at)*stride[dim]
}

// mostHops bounds the buffer of a route that is kept on the stack; longer ones are
// allocated.
const mostHops = 64

// route appends the links from one FPGA to another: dimension by dimension, x first,
// the shorter way around, up if both are equal.
func (t Torus) route(from, to int32, links []int32) []int32 {
	a, b := from/PerQFDB, to/PerQFDB
	if a == b {
		if from != to {
			links = append(links, t.insideLink(from, to))
		}
		return links
	}
	if door := a * PerQFDB; from != door {
		links = append(links, t.insideLink(from, door))
	}
	size, stride := [3]int32{int32(t.X), int32(t.Y), int32(t.Z)}, [3]int32{1, int32(t.X), int32(t.X * t.Y)}
	for dim := range 3 {
		n := size[dim]
		at, end := a/stride[dim]%n, b/stride[dim]%n
		up := (end - at + n) % n
		way := 0
		if 2*up > n {
			way, up = 1, n-up
		}
		for range up {
			links = append(links, t.outsideLink(a, dim, way))
			a = t.step(a, dim, way)
		}
	}
	if door := b * PerQFDB; to != door {
		links = append(links, t.insideLink(door, to))
	}
	return links
}
