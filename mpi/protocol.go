//go:build !(readbased || rtr || envless || ticket || optimistic || customized || standing)

package mpi

import (
	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/auto"
	"github.com/exanet-mpi/exanet/variants/envless"
	"github.com/exanet-mpi/exanet/variants/readbased"
	"github.com/exanet-mpi/exanet/variants/rtr"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// protocol is that of a rank. Build tags pin one instead, see pinned.go.
type protocol = variants.Protocol

// protocolTag is the build tag that has left only one of the protocols.
const protocolTag = ""

// DefaultVariant is the protocol that is used unless another is asked for.
const DefaultVariant = "auto"

// Variants returns the names of the protocols, in the order of the thesis; then that of Small and Yuan, and two
// that the thesis leaves for later.
func Variants() []string {
	return []string{"readbased", "rtr", "envless", "ticket", "optimistic", "customized", "auto", "standing"}
}

// newProtocol makes the protocol that the settings name.
func newProtocol(o *settings, f fabric) (protocol, error) {
	switch o.variant {
	case "readbased":
		r, err := withAgents(f, o)
		if err != nil {
			return nil, err
		}
		return readbased.New(f.Rank(), r), nil
	case "rtr":
		return rtr.New(f.Rank(), f), nil
	case "envless":
		return envless.New(f.Rank(), f, o.level == ThreadMultiple), nil
	case "optimistic":
		return optimistic.New(f.Rank(), f), nil
	case "customized":
		return ticket.NewHybrid(f.Rank(), f, o.bands.Hybrid), nil
	case "auto":
		return ticket.NewAuto(f.Rank(), f, o.bands.Hybrid, auto.Default), nil
	case "standing":
		return ticket.NewStanding(f.Rank(), f, stands(f), o.standsAfter()), nil
	default:
		return ticket.New(f.Rank(), f), nil
	}
}
