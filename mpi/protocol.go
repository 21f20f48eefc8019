package mpi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/envless"
	"github.com/exanet-mpi/exanet/variants/readbased"
	"github.com/exanet-mpi/exanet/variants/rtr"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// DefaultVariant is the protocol that is used unless another is asked for.
const DefaultVariant = "ticket"

// Variants returns the names of the protocols, in the order of the thesis.
func Variants() []string { return []string{"readbased", "rtr", "envless", "ticket", "optimistic"} }

// Devices returns the names of the devices.
func Devices() []string { return []string{deviceHost, devicePrototype, deviceRegisters} }

// newProtocol makes the protocol that the settings name.
func newProtocol(o *settings, f fabric) (variants.Protocol, error) {
	switch o.variant {
	case "readbased":
		r, ok := f.(interface {
			fabric
			rdmaeng.Reader
		})
		if !ok {
			return nil, errors.New("the device " + o.device + " has no agent that reads, which the protocol readbased needs: choose another protocol or device")
		}
		return readbased.New(f.Rank(), r), nil
	case "rtr":
		return rtr.New(f.Rank(), f), nil
	case "envless":
		return envless.New(f.Rank(), f, o.level == ThreadMultiple), nil
	case "optimistic":
		return optimistic.New(f.Rank(), f), nil
	default:
		return ticket.New(f.Rank(), f), nil
	}
}

// oneOf checks a name against the known ones.
func oneOf(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return initError(fmt.Errorf("there is no %s %q", what, name), "choose one of "+strings.Join(known, ", "))
}
