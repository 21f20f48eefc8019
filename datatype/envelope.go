package datatype

import (
	"fmt"
	"strings"
)

// Combiner is the constructor that made a type (MPI_Type_get_envelope).
type Combiner uint8

// The constructors.
const (
	CombinerNamed Combiner = 1 + iota
	CombinerDup
	CombinerContiguous
	CombinerVector
	CombinerHvector
	CombinerIndexed
	CombinerHindexed
	CombinerIndexedBlock
	CombinerHindexedBlock
	CombinerStruct
	CombinerSubarray
	CombinerDarray
	CombinerResized
)

var combinerNames = []string{"", "named", "dup", "contiguous", "vector", "hvector", "indexed", "hindexed",
	"indexed_block", "hindexed_block", "struct", "subarray", "darray", "resized"}

func (c Combiner) String() string { return combinerNames[c] }

// Envelope is how a type was made: the arguments of its constructor in the order
// that MPI_Type_get_contents gives them. Ints holds counts and displacements in
// elements, Addrs those in bytes. The slices belong to the type.
type Envelope struct {
	Combiner Combiner
	Ints     []int
	Addrs    []int
	Types    []*Type
}

// Envelope returns how the type was made (MPI_Type_get_envelope,
// MPI_Type_get_contents).
func (t *Type) Envelope() Envelope { return t.env }

// String names a predefined type, and describes another by its constructor.
func (t *Type) String() string {
	if t == nil {
		return "no type"
	}
	if t.name != "" {
		return t.name
	}
	var b strings.Builder
	b.WriteString(t.env.Combiner.String())
	b.WriteByte('(')
	sep := ""
	for _, list := range [][]int{t.env.Ints, t.env.Addrs} {
		for i, x := range list {
			if i == 8 {
				fmt.Fprintf(&b, ", ... %d more", len(list)-i)
				break
			}
			fmt.Fprintf(&b, "%s%d", sep, x)
			sep = ", "
		}
	}
	for i, x := range t.env.Types {
		if i == 8 {
			fmt.Fprintf(&b, ", ... %d more", len(t.env.Types)-i)
			break
		}
		fmt.Fprintf(&b, "%s%v", sep, x)
		sep = ", "
	}
	b.WriteByte(')')
	return b.String()
}
