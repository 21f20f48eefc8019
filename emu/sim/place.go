package sim

import (
	"fmt"
	"math/rand/v2"
)

// Machine is a prototype: its network and its constants.
type Machine struct {
	Torus Torus
	Costs Costs
}

// Prototype is the one of the thesis: 8 mezzanines of 4 QFDBs of 4 FPGAs. The text
// does not give the shape of its torus; 4x4x2 has the 5 hops that it speaks of.
func Prototype() Machine {
	return Machine{Torus: Torus{4, 4, 2}, Costs: DefaultCosts()}
}

// Placement says on which FPGA each rank is.
type Placement []int32

// Hops is the number of links between two FPGAs.
func (m *Machine) Hops(a, b int32) int { return len(m.Torus.route(a, b, nil)) }

// SameQFDB places two ranks on F1 and F2 of a QFDB.
func (m *Machine) SameQFDB() Placement { return Placement{0, 1} }

// Apart places two ranks on the first FPGAs of QFDBs that are so many hops apart, the
// first such that there are.
func (m *Machine) Apart(hops int) (Placement, error) {
	for n := int32(0); int(n) < m.Torus.Nodes(); n += PerQFDB {
		if m.Hops(0, n) == hops {
			return Placement{0, n}, nil
		}
	}
	return nil, fmt.Errorf("no two QFDBs of a torus of %v are %d hops apart", m.Torus, hops)
}

// Ordered places ranks one after the other, perNode on an FPGA. The thesis has one,
// since its engine could not write within an FPGA (ch. 4).
func (m *Machine) Ordered(ranks, perNode int) (Placement, error) {
	if perNode < 1 || perNode > Cores {
		return nil, fmt.Errorf("an FPGA has %d cores: it takes 1 to %d ranks, not %d", Cores, Cores, perNode)
	}
	if ranks < 1 || ranks > m.Torus.Nodes()*perNode {
		return nil, fmt.Errorf("%d ranks do not fit: a torus of %v has %d FPGAs, with %d ranks each", ranks, m.Torus,
			m.Torus.Nodes(), perNode)
	}
	p := make(Placement, ranks)
	for i := range p {
		p[i] = int32(i / perNode)
	}
	return p, nil
}

// Shuffled places ranks as a shuffled host file of the whole machine does: each FPGA
// in use has perNode ranks that follow each other, but which FPGA is left to chance.
func (m *Machine) Shuffled(ranks, perNode int, seed uint64) (Placement, error) {
	p, err := m.Ordered(ranks, perNode)
	if err != nil {
		return nil, err
	}
	order := rand.New(rand.NewPCG(seed, 0x5348)).Perm(m.Torus.Nodes())
	for i := range p {
		p[i] = int32(order[p[i]])
	}
	return p, nil
}
