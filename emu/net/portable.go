//go:build !linux

package net

import (
	"time"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Fabric is only on Linux.
type Fabric struct{ *host.Fabric }

// NewFabric fails.
func NewFabric(*host.Fabric, []Conn, time.Duration) (*Fabric, error) { return nil, sys.ErrNeedsLinux }
