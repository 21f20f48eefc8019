package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/variants/auto"
)

func TestInfo(t *testing.T) {
	out, errs, code := exanet(t, "", "info")
	require.Equal(t, 0, code, errs)
	for _, line := range []string{
		`kernel +Linux \S+ \S+`, `cores +[1-9]`, `memory +\S+ GiB, \S+ GiB available`, `page size +\d+ B`,
		`memfd +yes`, `futex +yes`, `membarrier +(yes|no: .+)`, `cross-memory attach +(yes|no: .+)`,
		`backends +host: `, ` +prototype: `, `protocols +.*default auto`,
		`notifications +host: of all writes: it does not promise that the last byte`,
		` +exanet sim: of writes whose end`,
	} {
		require.Regexp(t, `(?m)^`+line, out)
	}
}

func TestInfoCollectives(t *testing.T) {
	out, errs, code := exanet(t, "", "info", "--collectives")
	require.Equal(t, 0, code, errs)
	for _, line := range []string{
		`# collective +bytes +ranks +algorithm`, `barrier +any +any +shared +# others: tree`,
		`barrier +any +any +dissemination`,
		`allreduce +65536 +any +shared`, `allreduce +2048 +any +recursive_doubling`,
		`allreduce +any +any +rabenseifner`, `neighbor_alltoallw `,
	} {
		require.Regexp(t, `(?m)^`+line, out)
	}
	for _, rows := range []string{`allreduce +65536 +any +shared +# others: ring, tree`,
		`alltoall +32768 +any +shared\nalltoall +any +16 +direct`} {
		require.Regexp(t, `(?m)^`+rows+`$`, out)
	}
	t.Setenv("EXANET_COLL", "allreduce:ring")
	out, _, _ = exanet(t, "", "info", "--collectives")
	require.Regexp(t, `(?m)^allreduce +any +any +ring +# forced; others: recursive_doubling, rabenseifner, tree, `+
		`shared`, out)
	t.Setenv("EXANET_COLL", "allreduce:rung")
	_, errs, code = exanet(t, "", "info", "--collectives")
	require.Equal(t, exitUsage, code)
	require.Equal(t, "exanet: EXANET_COLL: allreduce has no algorithm \"rung\": it has recursive_doubling, "+
		"rabenseifner, ring, tree, shared, leaders\n", errs)
}

// Without /proc and /sys the memory is what the kernel says, and no figure is
// made up.
func TestInfoProtocols(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, printProtocols(&out, nil))
	for _, name := range mpi.Variants() {
		require.Regexp(t, "(?m)^"+name+" +[A-Zat].+", out.String())
	}
	if slices.Contains(mpi.Variants(), "auto") {
		require.Contains(t, out.String(), fmt.Sprintf("%d sends more came first", auto.Default.Late))
		require.Regexp(t, `(?m)^sizes +customized and auto on the device host: small to 32768 B, medium to 524288 B$`,
			out.String())
		require.Contains(t, out.String(), "or at least 40, which")
	}
}

// The sizes are those of the environment, as far as the device's messages hold them.
func TestInfoProtocolsSizes(t *testing.T) {
	if !slices.Contains(mpi.Variants(), "auto") {
		t.Skipf("this build has %s only", mpi.Variants())
	}
	for environ, says := range map[string]string{
		"EXANET_BANDS=12K,40K":                                        "host: small to 12288 B, medium to 40960 B",
		"EXANET_BANDS=12K,40K EXANET_VARIANT=ticket":                  "host: small to 12288 B, medium to 40960 B",
		"EXANET_BANDS=12K,40K EXANET_DEVICE=registers":                "registers: small to 40 B, medium to 40960 B",
		"EXANET_BANDS=64K,64K EXANET_DEVICE=network":                  "network: small to 32768 B, medium to 65536 B",
		"EXANET_BANDS=0,0 EXANET_DEVICE=host EXANET_DEVICE=prototype": "prototype: small to 40 B, medium to 0 B",
	} {
		var out bytes.Buffer
		require.NoError(t, printProtocols(&out, strings.Fields(environ)), environ)
		require.Contains(t, out.String(), says, environ)
	}
	t.Setenv("EXANET_BANDS", "39,40K")
	_, errs, code := exanet(t, "", "info", "--protocols")
	require.Equal(t, exitUsage, code)
	require.Regexp(t, `^exanet: EXANET_BANDS="39,40K": the first size is smaller than the 40 bytes.*\n$`, errs)
}

func TestInfoWithoutProc(t *testing.T) {
	require.Regexp(t, `^[0-9.]*[1-9][0-9.]* GiB \(how much is available cannot be told`, memory(fstest.MapFS{}))
	require.Regexp(t, `^[1-9]`, cores(fstest.MapFS{}))
}

// A target that is not there is refused like one that we may not attach to.
func TestAttachRefused(t *testing.T) {
	_, _, code := exanet(t, "", reachCommand, "2147483647", "4096")
	require.Equal(t, int(syscall.ESRCH), code)
	_, _, code = exanet(t, "", targetCommand) // nobody writes
	require.Equal(t, exitFailure, code)
}

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

func TestWhyAttachIsRefused(t *testing.T) {
	const allCaps, noCaps = "CapEff:\t000001ffffffffff\n", "CapEff:\t00000000a80425fb\n"
	for _, c := range []struct {
		yama, status string
		errno        syscall.Errno
		says         string
	}{
		{"0\n", allCaps + "Seccomp:\t0\n", syscall.EPERM, "operation not permitted"},
		{"2\n", noCaps + "Seccomp:\t0\n", syscall.EPERM, "ptrace_scope is 2; CAP_SYS_PTRACE is missing"},
		{"0\n", noCaps + "Seccomp:\t2\n", syscall.EPERM, "seccomp"},
		{"0\n", allCaps + "Seccomp:\t2\n", syscall.ENOSYS, "no such call, or a filter hides it; a seccomp filter"},
		{"0\n", allCaps, syscall.ESRCH, "PIDs"},
	} {
		root := fstest.MapFS{"proc/sys/kernel/yama/ptrace_scope": file(c.yama), "proc/self/status": file(c.status)}
		err := whyRefused(root, c.errno)
		require.ErrorIs(t, err, c.errno)
		require.Contains(t, err.Error(), c.says)
	}
	require.Equal(t, error(syscall.EPERM), whyRefused(fstest.MapFS{}, syscall.EPERM))
}

func TestControlGroupLimits(t *testing.T) {
	const v2mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
	for name, c := range map[string]struct {
		root   fstest.MapFS
		cores  float64
		memory uint64
	}{
		"none": {fstest.MapFS{}, math.Inf(1), math.MaxUint64},
		"version 2, the parent is the tighter": {fstest.MapFS{
			"proc/self/cgroup":               file("0::/a/b\n"),
			"proc/self/mountinfo":            file(v2mount),
			"sys/fs/cgroup/a/cpu.max":        file("150000 100000\n"),
			"sys/fs/cgroup/a/b/cpu.max":      file("max 100000\n"),
			"sys/fs/cgroup/a/memory.max":     file("max\n"),
			"sys/fs/cgroup/a/b/memory.max":   file("1073741824\n"),
			"sys/fs/cgroup/other/memory.max": file("1\n"),
		}, 1.5, 1 << 30},
		"version 2 in a container": {fstest.MapFS{
			"proc/self/cgroup":      file("0::/\n"),
			"proc/self/mountinfo":   file(v2mount),
			"sys/fs/cgroup/cpu.max": file("50000 100000\n"),
		}, 0.5, math.MaxUint64},
		"version 1, a part is mounted": {fstest.MapFS{
			"proc/self/cgroup": file("5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n"),
			"proc/self/mountinfo": file("31 23 0:27 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"32 23 0:28 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         file("400000\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_period_us":        file("100000\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("2048\n"),
		}, 4, 2048},
		"version 1, no quota": {fstest.MapFS{
			"proc/self/cgroup":                    file("5:cpu:/\n"),
			"proc/self/mountinfo":                 file("31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  file("-1\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": file("100000\n"),
		}, math.Inf(1), math.MaxUint64},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.cores, cpuQuota(c.root))
			require.Equal(t, c.memory, memoryLimit(c.root))
		})
	}
}

func TestCountList(t *testing.T) {
	for list, n := range map[string]int{"": 0, "0": 1, "0-3": 4, "0-1,4,6-7": 5} {
		require.Equal(t, n, countList(list), list)
	}
}
