package net

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/internal/env"
)

// Networks says which addresses of a host the others are told, the best first: the value of EXANET_NETWORK.
type Networks []network

// network has the addresses of an interface, or those within a prefix.
type network struct {
	device string // "": the prefix counts
	prefix netip.Prefix
}

// nameMost is the length of the longest name that an interface of Linux has.
const nameMost = 15

// ParseNetworks reads a value of EXANET_NETWORK: interfaces, prefixes and addresses, with commas between. It returns
// nil if the value is empty.
func ParseNetworks(text string) (list Networks, err error) {
	if text == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		n, ok := parseNetwork(one)
		if !ok {
			return nil, fmt.Errorf("%s=%q: %q is no interface, prefix or address", env.Network, text, one)
		}
		list = append(list, n)
	}
	return list, nil
}

func parseNetwork(text string) (n network, ok bool) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		return network{prefix: p.Masked()}, err == nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		a = a.Unmap()
		return network{prefix: netip.PrefixFrom(a, a.BitLen())}, a.Zone() == ""
	}
	digits := strings.Trim(text, "0123456789.") == "" // an address that is wrong, or nothing
	return network{device: text}, !digits && len(text) <= nameMost && !strings.ContainsAny(text, ": \t\n")
}

// address is one of this host's, on an interface.
type address struct {
	device string
	ip     netip.Addr
}

// addresses are those of this host, of IPv4 first. A link-local one of IPv6 is not among them: it means something only
// with the name of an interface of the host that uses it.
func addresses() (all []address) {
	devices, _ := net.Interfaces()
	for _, d := range devices {
		addrs, _ := d.Addrs()
		for _, a := range addrs {
			n, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			ip, _ := netip.AddrFromSlice(n.IP)
			if ip = ip.Unmap(); ip.Is4() || !ip.IsLinkLocalUnicast() {
				all = append(all, address{d.Name, ip})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b address) int { return cmp.Compare(a.ip.BitLen(), b.ip.BitLen()) })
	return all
}

// mostAddresses is how many addresses of a host the others are told.
const mostAddresses = 32

// of chooses from the addresses of a host. A prefix with others than loopback addresses, as 0.0.0.0/0, chooses none of
// these.
func (list Networks) of(all []address) (chosen []string) {
	for _, n := range list {
		for _, a := range all {
			has := n.device == a.device || n.device == "" && n.prefix.Contains(a.ip) &&
				(!a.ip.IsLoopback() || n.prefix.Addr().IsLoopback())
			if text := a.ip.String(); has && !slices.Contains(chosen, text) && len(chosen) < mostAddresses {
				chosen = append(chosen, text)
			}
		}
	}
	return chosen
}

// public are the addresses of a host at which others may reach it; only if there is no other, that which is this
// host's alone.
func public(all []address) (list []string) {
	for _, a := range all {
		if a.ip.IsGlobalUnicast() && len(list) < mostAddresses {
			list = append(list, a.ip.String())
		}
	}
	if list == nil {
		list = []string{"127.0.0.1"}
	}
	return list
}

// CheckNetworks returns an error if ranks with this value of EXANET_NETWORK cannot be on this host.
func CheckNetworks(text string) error {
	_, err := ownOf(text)
	return err
}

// own are the addresses at which the others reach this host, the best first: those that EXANET_NETWORK names, else all.
func own() ([]string, error) { return ownOf(os.Getenv(env.Network)) }

func ownOf(text string) ([]string, error) {
	list, err := ParseNetworks(text)
	if err != nil {
		return nil, err
	}
	all := addresses()
	if list == nil {
		return public(all), nil
	}
	if chosen := list.of(all); chosen != nil {
		return chosen, nil
	}
	name, _ := os.Hostname()
	return nil, fmt.Errorf("%s=%q names no address of its host %s, which has %s; name one of these, or none",
		env.Network, text, name, strings.Join(choice(all), ", "))
}

// choice is what of the addresses of a host may be named: one that is this host's alone only if there is no other.
func choice(all []address) (list []string) {
	others := slices.DeleteFunc(slices.Clone(all), func(a address) bool { return a.ip.IsLoopback() })
	if len(others) > 0 {
		all = others
	}
	for _, a := range all[:min(len(all), mostAddresses)] {
		list = append(list, fmt.Sprintf("%v (%s)", a.ip, a.device))
	}
	return list
}
