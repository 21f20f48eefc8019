// Package checking is the logic of the checking mode (EXANET_CHECK, docs/checking.md), which
// knows neither ranks nor memory:
//
//	sequence.go   the signature of data as a digest, which shows whether two sides agree
//	card.go       what a rank tells another of a call: of a message, in front of its data
//	spans.go      which buffers in use overlap
//	knot.go       which of the ranks that wait can never go on
//
// Package mpi calls it where messages and collectives begin and end.
package checking
