package net

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/env"
)

func TestNetworks(t *testing.T) {
	var all []address
	for _, a := range [][2]string{{"lo", "127.0.0.1"}, {"eth0", "192.168.1.7"}, {"eth1", "10.77.2.7"},
		{"eth1", "169.254.3.3"}, {"lo", "::1"}, {"eth0", "2001:db8::7"}, {"eth1", "fd00::7"}} {
		all = append(all, address{a[0], netip.MustParseAddr(a[1])})
	}
	require.Equal(t, []string{"192.168.1.7", "10.77.2.7", "2001:db8::7", "fd00::7"}, public(all))
	require.Equal(t, []string{"127.0.0.1"}, public(all[:1]))
	require.Equal(t, []string{"192.168.1.7 (eth0)", "10.77.2.7 (eth1)"}, choice(all[:3]))
	require.Equal(t, []string{"127.0.0.1 (lo)"}, choice(all[:1]))
	for _, c := range []struct {
		networks string
		want     []string
	}{
		{"eth1", []string{"10.77.2.7", "169.254.3.3", "fd00::7"}},
		{"10.77.2.0/24", []string{"10.77.2.7"}},
		{"10.77.2.99/24", []string{"10.77.2.7"}}, // as `ip address` shows it
		{"fd00::/8", []string{"fd00::7"}},
		{"fd00:0::7,eth0", []string{"fd00::7", "192.168.1.7", "2001:db8::7"}},
		{"::ffff:10.77.2.7", []string{"10.77.2.7"}},
		{"10.77.2.7,eth1,eth0", []string{"10.77.2.7", "169.254.3.3", "fd00::7", "192.168.1.7", "2001:db8::7"}},
		{"ib0,10.78.0.0/16,eth0.5,lo", []string{"127.0.0.1", "::1"}},
		{"0.0.0.0/0", []string{"192.168.1.7", "10.77.2.7", "169.254.3.3"}},
		{"::/0", []string{"2001:db8::7", "fd00::7"}},
		{"127.0.0.0/8,::1", []string{"127.0.0.1", "::1"}},
		{"ib0,10.77.2.8", nil},
	} {
		list, err := ParseNetworks(c.networks)
		require.NoError(t, err)
		require.Equal(t, c.want, list.of(all), c.networks)
	}
}

func TestNetworksWithoutForm(t *testing.T) {
	for text, wrong := range map[string]string{
		",": "", "eth0,": "", "eth0,,eth1": "", "eth0, eth1": " eth1", "10.77.2": "10.77.2",
		"10.77.2.256": "10.77.2.256", "10.77.2.0/33": "10.77.2.0/33",
		"/24": "/24", "eth1/24": "eth1/24", "fd00::5::1": "fd00::5::1",
		"fe80::1%eth0": "fe80::1%eth0", "eth1:1": "eth1:1", "aninterfacewithalongname": "aninterfacewithalongname",
	} {
		_, err := ParseNetworks(text)
		require.EqualError(t, err, `EXANET_NETWORK="`+text+`": "`+wrong+`" is no interface, prefix or address`)
		t.Setenv(env.Network, text)
		_, err = Listen("")
		require.ErrorContains(t, err, "no interface, prefix or address")
	}
}

func TestListenAtNetworks(t *testing.T) {
	t.Setenv(env.Network, "127.0.0.1")
	l, err := Listen("")
	require.NoError(t, err)
	defer l.Close()
	require.Equal(t, []string{l.Addr().String()}, l.addrs) // it listens there alone
	require.Regexp(t, `^127\.0\.0\.1:\d+$`, l.addrs[0])
	require.EqualError(t, l.Unreachable(),
		`its host has no address that other hosts could reach among those of EXANET_NETWORK="127.0.0.1"`)
	require.NoError(t, (&Listener{addrs: []string{l.addrs[0], "10.77.0.1:5"}}).Unreachable())
	t.Setenv(env.Network, "nosuch0,203.0.113.0/24")
	_, err = Listen("")
	require.ErrorContains(t, err, `EXANET_NETWORK="nosuch0,203.0.113.0/24" names no address of its host `)
	require.ErrorContains(t, err, "which has "+choice(addresses())[0])
	p, err := NewPlace(NewSecret(), 1, nil) // of a launcher on a host without ranks
	require.NoError(t, err)
	defer p.Close()
	require.NotEmpty(t, p.addresses())
}
