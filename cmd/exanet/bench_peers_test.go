package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressOfProtocolsSideBySide(t *testing.T) {
	out, errs, code := exanet(t, "", "bench", "progress", "--variant", "readbased,customized", "--sizes", "8,30000",
		"--repeat", "1", "--iterations", "1", "--warmup", "0", "--unit", "1us")
	require.Zero(t, code, errs)
	require.Equal(t, 8, strings.Count(out, ", Round (us)\n"))
	require.Regexp(t, `(?m)^# 10b, Round \(us\)\n# Size +readbased +customized\n8 +[0-9.]+ +[0-9.]+\n30000 `, out)
	require.Contains(t, out, "# as a multiple of readbased's\n")
}

func TestProgressRefusesWhatPeersHaveNot(t *testing.T) {
	for args, named := range map[string]string{"--peers --alone": "--peers", "--peers --warmup 1": "--peers",
		"--variant no": "--variant", "-n 3": "two ranks, not 3"} {
		_, errs, code := exanet(t, "", append([]string{"bench", "progress"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errs, named)
	}
}
