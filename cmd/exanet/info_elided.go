package main

import (
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// notified says of each device whether the protocol customized leaves the notifications of writes out, or why not.
func notified() (lines []string) {
	for _, d := range []struct {
		name  string
		Order rdmaeng.Order
	}{
		// What a device promises does not depend on the job.
		{"host", (*host.Fabric)(nil).Order()},
		{"registers", (*rdmaeng.Device)(nil).Order()},
		{"network", (*net.Fabric)(nil).Order()},
		{"exanet sim", (*sim.Endpoint)(nil).Order()},
	} {
		line := d.name + ": of writes whose end cannot be seen, with customized; of all writes else"
		if err := variants.Elides(d.Order); err != nil {
			line = d.name + ": of all writes: " + err.Error()
		}
		lines = append(lines, line)
	}
	return lines
}
