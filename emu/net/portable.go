//go:build !linux

package net

import (
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Fabric is only on Linux.
type Fabric struct{ *host.Fabric }

// NewFabric fails.
func NewFabric(*host.Fabric, []Conn) (*Fabric, error) { return nil, sys.ErrNeedsLinux }
