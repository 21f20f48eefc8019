package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/bench/tune"
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/mpi"
)

func TestTune(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tuned")
	out, errs, code := exanet(t, "", "tune", "-n", "2,3", "--op", "bcast,barrier", "--sizes", "8,4096", "--repeat", "1",
		name)
	require.Equal(t, 0, code, errs)
	require.Regexp(t, `(?m)^# bcast, 3 ranks, .*\n.*\n# Size +binomial +scatter_ring +shared +direct\n8 +[0-9.]+ `+
		`+[0-9.]+ +[0-9.]+ +[0-9.]+\n4096 `, out)
	_, err := coll.ReadTable(name)
	require.NoError(t, err)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), coll.TableHead)
	left, err := filepath.Glob(name + "?*")
	require.NoError(t, err)
	require.Empty(t, left)

	// In a job, of the job's ranks; what is already in force makes no difference.
	t.Setenv("EXANET_COLL", "bcast:binomial")
	out, errs, code = exanet(t, "", "run", "-n", "3", self(), "tune", "--op", "bcast", "--sizes", "8", "--repeat", "2",
		"--json")
	require.Equal(t, 0, code, errs)
	var all []tune.Figures
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all, 1)
	require.Equal(t, 3, all[0].Ranks)
	require.Len(t, all[0].Curves, 4)
	require.Len(t, all[0].Curves[0].Rows[0].Repeats, 2)
}

func TestMistakesInTune(t *testing.T) {
	dir := t.TempDir()
	for says, args := range map[string][]string{
		"want numbers from 2":    {"-n", "2,1"},
		"--op neighbor: use all": {"--op", "neighbor"},
		"--sizes":                {"--sizes", "x"},
		"want sizes from 1 byte": {"--sizes", "0:8"},
		"--repeat 0":             {"--repeat", "0"},
		"is there, and no file":  {dir},
		"no such file":           {filepath.Join(dir, "a", "b")},
	} {
		_, errs, code := exanet(t, "", append([]string{"tune"}, args...)...)
		require.Equal(t, exitUsage, code, errs)
		require.Contains(t, errs, says)
	}
}

// received runs broadcasts with EXANET_COLL, and counts the messages that rank 1 has got.
func received(t *testing.T, override string) uint64 {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("EXANET_COLL", override)
	t.Setenv("EXANET_STATS", dir)
	_, errs, code := exanet(t, "", "bench", "coll", "--op", "bcast", "-n", "2", "--sizes", "8", "--iterations", "500",
		"--warmup", "0")
	require.Equal(t, 0, code, errs)
	text, err := os.ReadFile(filepath.Join(dir, "rank-1.json"))
	require.NoError(t, err)
	var stats mpi.Stats
	require.NoError(t, json.Unmarshal(text, &stats))
	return stats.Receives
}

// A table is obeyed, `exanet info --collectives` shows it, and what that prints is a table.
func TestATableIsObeyed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(name, []byte("# mine\nbcast 8 2 binomial\n"), 0o600))
	require.Less(t, received(t, ""), uint64(100))
	require.GreaterOrEqual(t, received(t, "@"+name), uint64(500))
	require.Less(t, received(t, "bcast:shared,@"+name), uint64(100))

	t.Setenv("EXANET_COLL", "@"+name)
	out, errs, code := exanet(t, "", "info", "--collectives")
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, "Rows with a line number come from "+name)
	require.Regexp(t, `(?m)^bcast +8 +2  binomial +# line 2; others: scatter_ring\nbcast +32768 +any  shared\n`, out)
	require.NoError(t, os.WriteFile(name, []byte(out), 0o600))
	again, errs, code := exanet(t, "", "info", "--collectives")
	require.Equal(t, 0, code, errs)
	plain := func(text string) []coll.Row {
		rows, err := coll.ParseTable(text)
		require.NoError(t, err)
		for i := range rows {
			rows[i].Line = 0
		}
		return rows
	}
	require.Equal(t, plain(out), plain(again))
}

func TestABrokenTableIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(name, []byte("# mine\nbcast 8 2 bionmial\n"), 0o600))
	t.Setenv("EXANET_COLL", "@"+name)
	const why = `, line 2: bcast has no algorithm "bionmial": it has binomial, scatter_ring, shared, direct, leaders`
	_, errs, code := exanet(t, "", "info", "--collectives")
	require.Equal(t, exitUsage, code)
	require.Equal(t, "exanet: EXANET_COLL: table "+name+why+"\n", errs)
	_, errs, code = exanet(t, "", "bench", "coll", "--op", "bcast", "--sizes", "8")
	require.Equal(t, exitUsage, code)
	require.Equal(t, "exanet: EXANET_COLL: table "+name+why+"; see exanet info --collectives\n", errs)
}
