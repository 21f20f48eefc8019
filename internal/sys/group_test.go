package sys

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCPUGroup(t *testing.T) {
	with := func(names ...string) func(string) bool {
		return func(name string) bool {
			for _, n := range names {
				if n == name {
					return true
				}
			}
			return false
		}
	}
	for _, c := range []struct{ own, want, file string }{
		{own: "", want: ""},
		{own: "0::/\n", want: ""},
		{own: "0::/\n", want: "unified /", file: "/sys/fs/cgroup/cpu.max"}, // in a container
		{own: "0::/user.slice/session-3.scope\n", want: "", file: "/sys/fs/cgroup/elsewhere/cpu.max"},
		{own: "0::/user.slice/session-3.scope\n", want: "unified /user.slice",
			file: "/sys/fs/cgroup/user.slice/cpu.max"},
		{own: "9:name=systemd:/a\n2:cpuacct,cpu:/\n0::/\n", want: ""},
		{own: "9:name=systemd:/a\n2:cpuacct,cpu:/job/7\n0::/\n", want: "job/7"},
		{own: "3:cpuset:/x\n0::/\n", want: ""},
	} {
		require.Equal(t, c.want, cpuGroup(c.own, with(c.file)), "%q, %s", c.own, c.file)
	}
}

func TestAutogroup(t *testing.T) {
	require.EqualValues(t, 34669, autogroup("/autogroup-34669 nice 0\n"))
	require.Zero(t, autogroup("none\n"))
	require.Equal(t, SchedGroup(), SchedGroup())
}
