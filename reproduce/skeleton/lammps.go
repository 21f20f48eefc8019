package skeleton

import "github.com/exanet-mpi/exanet/mpi"

// EAM and Chute are two of LAMMPS' benchmarks, of 32,000 atoms each, which move little. A rank
// has a box of space. In a time step it tells six neighbours the positions of the atoms near its
// borders, dimension after dimension, receive posted, send, wait; the second and third dimension pass on what has
// come with the first. If Newton's third law is used, forces of such atoms go back the same way. EAM does the same once
// more for electron densities, to and fro. Every few steps the ranks agree (Allreduce of 4 bytes) on whether atoms have
// moved far; every hundredth they sum quantities for the log.
var (
	EAM = (&atoms{
		name:  "EAM",
		about: "32,000 atoms of copper, cutoff 4.95 + 1 Angstrom",
		// 20 cubic cells of 4 atoms a side.
		extent:  [3]float64{20 * 3.615, 20 * 3.615, 20 * 3.615},
		density: 4 / (3.615 * 3.615 * 3.615),
		cutoff:  5.95, periodic: [3]bool{true, true, true},
		every: 5, position: 3,
		passes: []pass{{1, true}, {1, false}, {3, true}},
	}).code()

	Chute = (&atoms{
		name:    "Chute",
		about:   "32,000 grains, cutoff 1.1 diameters",
		extent:  [3]float64{40, 20, 37.2886},
		density: 32000 / (40 * 20 * 37.2886),
		cutoff:  1.1, periodic: [3]bool{true, true, false},
		// Positions, velocities and angular velocities go out; no forces come back.
		every: 1, position: 9,
	}).code()
)

const lammpsAtoms = 32000

// pass is an exchange during the computation of forces.
type pass struct {
	values  int // doubles an atom
	reverse bool
}

type atoms struct {
	name, about string
	extent      [3]float64
	density     float64
	cutoff      float64
	periodic    [3]bool
	position    int // doubles an atom that are told each step
	passes      []pass
	every       int // steps between two checks
}

func (a *atoms) code() *Code {
	return &Code{
		Name: a.name, About: a.about, Check: anyRanks,
		Work: func(int) float64 { return lammpsAtoms },
		Buffer: func(ranks int) int {
			most := 0
			for _, n := range a.ghosts(boxed(ranks, a.extent)) {
				most = max(most, n)
			}
			return most * double * a.position
		},
		begin: func(r *rank) (func() error, error) {
			l := &lammps{atoms: a, r: r, dims: boxed(r.comm.Size(), a.extent)}
			l.place, l.ghost = place(r.comm.Rank(), l.dims), a.ghosts(l.dims)
			return l.step, nil
		},
	}
}

// ghosts is how many atoms go to each side in each dimension.
func (a *atoms) ghosts(dims [3]int) (n [3]int) {
	var box [3]float64
	for i := range box {
		box[i] = a.extent[i] / float64(dims[i])
	}
	for i := range n {
		volume := min(a.cutoff, box[i])
		for j := range box {
			switch {
			case j < i:
				volume *= box[j] + 2*a.cutoff
			case j > i:
				volume *= box[j]
			}
		}
		n[i] = int(volume*a.density + 0.5)
	}
	return n
}

type lammps struct {
	*atoms
	r           *rank
	dims, place [3]int
	ghost       [3]int
	steps       int
}

func (l *lammps) step() error {
	l.steps++
	if l.steps%l.every == 0 {
		if err := l.sum(1); err != nil {
			return err
		}
	}
	if err := l.exchange(l.position, false); err != nil {
		return err
	}
	parts := 1
	for _, p := range l.passes {
		if !p.reverse {
			parts++
		}
	}
	own := lammpsAtoms / float64(l.r.comm.Size()) / float64(parts)
	l.r.work(own)
	for _, p := range l.passes {
		if err := l.exchange(p.values, p.reverse); err != nil {
			return err
		}
		if !p.reverse {
			l.r.work(own)
		}
	}
	if l.steps%100 == 0 {
		return l.sum(6)
	}
	return nil
}

// exchange tells the neighbours of atoms near the borders, or in reverse those of their ghosts.
func (l *lammps) exchange(values int, reverse bool) error {
	for i := range 6 {
		if reverse {
			i = 5 - i
		}
		dim, up := i/2, i%2*2-1
		if reverse {
			up = -up
		}
		if l.dims[dim] == 1 {
			continue // its own neighbour
		}
		to, from := l.place, l.place
		to[dim] += up
		from[dim] -= up
		bytes := l.ghost[dim] * values * double
		if err := all(
			func() error { return l.r.irecv(bytes, l.neighbour(from, dim)) },
			func() error { return l.r.send(bytes, l.neighbour(to, dim)) },
			l.r.wait,
		); err != nil {
			return err
		}
	}
	return nil
}

// neighbour is the rank at a place; -1 beyond an end that is not periodic.
func (l *lammps) neighbour(p [3]int, dim int) int {
	if !l.periodic[dim] && (p[dim] < 0 || p[dim] >= l.dims[dim]) {
		return -1
	}
	return at(p, l.dims, true)
}

func (l *lammps) sum(n int) error {
	in, out := make([]int32, n), make([]int32, n)
	return mpi.Allreduce(l.r.comm, in, out, mpi.Max)
}
