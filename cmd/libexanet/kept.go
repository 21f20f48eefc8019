//go:build mpich || openmpi

package main

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/variants/express"
)

// Persistent requests that entry/kept.c starts on the express lane. What it has started is a
// request there, whose number stands beside that of the persistent one until it has ended.

// keep lets the request of a handle be started there.
func keep(h unsafe.Pointer, k express.Kept) {
	if n := requestNumber(*handleAt(h)); lane.express != nil && n < express.Kepts {
		lane.table.Kept[n] = k
	}
}

func unkeep(n int32) {
	if n < express.Kepts {
		lane.table.Kept[n] = express.Kept{}
	}
}

// started takes note that a request has been started in Go.
func started(n int32) {
	if n < express.Kepts {
		lane.table.Kept[n].Away = express.InGo
	}
}

// awayOf is the number of what has been started there of a request, 0 if nothing.
func awayOf(n int32) int32 {
	if n >= express.Kepts || lane.table.Kept[n].Away == express.InGo {
		return 0
	}
	return int32(lane.table.Kept[n].Away)
}

// back takes note that a started request has ended, and returns its number there, to be given up, if it
// has one.
func back(n int32) (numbers []int32) {
	if away := awayOf(n); away != 0 {
		numbers = append(numbers, away)
	}
	if n < express.Kepts {
		lane.table.Kept[n].Away = 0
	}
	return numbers
}
