//go:build !linux

package mpi

import (
	"errors"

	"github.com/exanet-mpi/exanet/internal/pmi"
)

// joinLaunched is for what processes share, as on Linux alone.
func joinLaunched(*pmi.Client, *settings) (fabric, error) {
	return nil, errors.New("on this system ranks are goroutines: use Run")
}
