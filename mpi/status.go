package mpi

import (
	"reflect"
	"strconv"

	"github.com/exanet-mpi/exanet/variants"
)

// Status describes a received or probed message (MPI_Status): who sent it, with which tag,
// and, by Count or Bytes, how long it is.
type Status struct {
	Source, Tag int

	bytes     int
	cancelled bool
}

// Bytes is the size of the message as it was sent, in bytes.
func (s Status) Bytes() int { return s.bytes }

// Cancelled reports whether the request was cancelled (MPI_Test_cancelled).
func (s Status) Cancelled() bool { return s.cancelled }

// Count is the number of elements of type T in the message (MPI_Get_count), or -1 if its size is no
// multiple of an element's.
func Count[T Element](s Status) int {
	n := int(reflect.TypeFor[T]().Size())
	if n == 0 {
		return 0
	}
	if s.bytes%n != 0 {
		return -1
	}
	return s.bytes / n
}

// emptyStatus is that of an inert request and of ProcNull sends.
var emptyStatus = Status{Source: AnySource, Tag: AnyTag}

// nullStatus is that of a receive from ProcNull.
var nullStatus = Status{Source: ProcNull, Tag: AnyTag}

func statusOf(r *variants.Request) Status {
	if !r.Recv && !r.Status.Cancelled {
		return emptyStatus
	}
	return fromProtocol(r.Status)
}

func fromProtocol(s variants.Status) Status {
	return Status{Source: int(s.Source), Tag: int(s.Tag), bytes: s.Size, cancelled: s.Cancelled}
}

func itoa(n int) string { return strconv.Itoa(n) }
