// Package datatype says where in memory the data of a message lie: the derived
// datatypes of MPI-4, chapter 5.
//
// A Type is immutable once built. It is predefined (Float64, Int32, ...), made of
// others by a constructor (Contiguous, Vector, Indexed, Struct, Subarray, Darray,
// Resized, ...), or read off a Go type (Of). It keeps two things:
//
//	signature   which elements follow each other (kind.go, signature.go): what
//	            MPI matches, counts and reduces
//	layout      which bytes follow each other (node.go): what is moved
//
// The layout is a tree whose leaves are blocks of contiguous bytes, alone, at a
// constant stride, or at listed places. It stays small however many elements a
// type has: a vector of a million blocks is one leaf. Neighbours are joined while
// it is built.
//
// A View is Count elements of a Type at a place in memory. Its bytes in the order
// of the layout are its packed stream. Pack and Unpack copy any range of that
// stream (move.go), Segments lists where a range lies (segments.go), and Copy
// moves one view's data into another's without packing where that pays (copy.go).
package datatype
