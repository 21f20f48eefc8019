// Package boardc has the twin in C of package coll/board for the calls of the
// preload library: board.h and board.c, which that is built with. From Go it is called
// by tests alone, which let ranks of both kinds take part in the same calls.
package boardc
