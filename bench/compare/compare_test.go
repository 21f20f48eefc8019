package compare

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/bench"
)

// ways are two shell commands.
func ways(t *testing.T, without, with string) [2]Way {
	t.Helper()
	t.Chdir(t.TempDir())
	way := func(name, script string) Way {
		return Way{Name: name, Path: "/bin/sh", Words: []string{"sh", "-c", script}, Env: os.Environ()}
	}
	return [2]Way{way("without", without), way("with", with)}
}

func TestRunsAlternate(t *testing.T) {
	w := ways(t, "printf a >>order; echo $0", "printf b >>order; cat; exit 3")
	ran := 0
	got, err := Run(t.Context(), w, 3, func() { ran++ })
	require.NoError(t, err)
	assert.Equal(t, 6, ran)
	order, err := os.ReadFile("order")
	require.NoError(t, err)
	assert.Equal(t, "abbaab", string(order))
	require.Len(t, got[0], 3)
	require.Len(t, got[1], 3)
	assert.Equal(t, "sh\n", got[0][2].Output)
	assert.Equal(t, 3, got[1][0].Code)
	assert.Positive(t, got[1][0].Seconds)
}

func TestRunEndsEarly(t *testing.T) {
	w := ways(t, "echo why; echo more; kill -9 $$", "true")
	_, err := Run(t.Context(), w, 3, func() {})
	var failed *FailedError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 137, failed.ExitCode())
	assert.Contains(t, err.Error(), "it says: why")
	assert.Contains(t, (&FailedError{Outcome{Code: 5}}).Error(),
		"code 5, so there is nothing to compare; it says: nothing")

	ctx, stop := context.WithCancelCause(t.Context())
	w = ways(t, "echo $$ >pid; exec sleep 100", "true")
	go func() {
		for {
			if b, _ := os.ReadFile("pid"); len(b) > 0 {
				stop(assert.AnError)
				return
			}
		}
	}()
	_, err = Run(ctx, w, 3, func() {})
	require.ErrorIs(t, err, assert.AnError)
}

const osu = `
# OSU MPI Allreduce Latency Test v7.4
# Size       Avg Latency(us)   Min Latency(us)
4                       1.50              1.00
8                       2.50              2.00

# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)
             3.00
done in 4 steps
5 6
`

// What is said meanwhile does not end a table.
func TestTablesAreOfTheOutput(t *testing.T) {
	w := ways(t, `echo "# a"; echo 1 2; echo "warning: x" >&2; echo 2 3`, `echo "# a"; echo 1 2; echo 2 3`)
	got, err := Run(t.Context(), w, 2, func() {})
	require.NoError(t, err)
	tables := NewReport("sh", w, got).Tables
	require.Len(t, tables, 1)
	require.Len(t, tables[0].Columns[0].Rows, 2)
	require.Contains(t, NewReport("sh", w, got).Outputs, "warning")
}

func TestTables(t *testing.T) {
	require.Equal(t, []Printed{
		{"OSU MPI Allreduce Latency Test v7.4", []string{"Avg Latency(us)", "Min Latency(us)"},
			[]PrintedRow{{4, []float64{1.5, 1}}, {8, []float64{2.5, 2}}}},
		{"OSU MPI Barrier Latency Test v7.4", []string{"Avg Latency(us)"}, []PrintedRow{{0, []float64{3}}}},
	}, Tables(osu))
	require.Equal(t, []Printed{{"exanet's barrier, 2 ranks", []string{"Avg Latency(us)", "With barrier(us)"},
		[]PrintedRow{{0, []float64{1.5, 2}}}}},
		Tables("# exanet's barrier, 2 ranks\n#            Avg Latency(us)  With barrier(us)\n    1.500   2.000\n"))
	require.Empty(t, Tables("1 2\n# a\ntext\n3 4\n"))
	require.Len(t, Tables("# a\n1 2\n# b\n3 nan\n"), 2)
}

// outcomesOf makes outcomes of outputs that took 1, 2, 3 ... seconds.
func outcomesOf(outputs ...string) (list []Outcome) {
	for i, o := range outputs {
		list = append(list, Outcome{Seconds: float64(i + 1), Output: o})
	}
	return list
}

func TestReport(t *testing.T) {
	w := ways(t, "", "")
	half := strings.NewReplacer("1.50", "0.75", "3.00", "1.50").Replace(osu)
	slow := strings.NewReplacer("1.50", "15.0").Replace(osu)
	r := NewReport("app", w, [2][]Outcome{outcomesOf(osu, slow, osu), outcomesOf(half, half, half)})
	assert.Empty(t, r.Outputs)
	assert.Empty(t, r.Codes)
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	assert.Equal(t, `# app, medians of 3 runs each way
# Wall (s)            median               min               max
without                2.000             1.000             3.000
with                   2.000             1.000             3.000
ratio                  1.000

# OSU MPI Allreduce Latency Test v7.4
# Avg Latency(us)
# Size               without              with             ratio
4                       1.50              0.75              0.50
8                       2.50              2.50              1.00

# OSU MPI Allreduce Latency Test v7.4
# Min Latency(us)
# Size               without              with             ratio
4                       1.00              1.00              1.00
8                       2.00              2.00              1.00

# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)
# Size               without              with             ratio
0                       3.00              1.50              0.50
`, b.String())
	assert.Equal(t, []float64{1.5, 15, 1.5}, r.Tables[0].Columns[0].Rows[0].Repeats)

	// Without the same tables in all runs there is only the wall time.
	r = NewReport("app", w, [2][]Outcome{outcomesOf(osu), outcomesOf("# a\n1 2\n")})
	assert.Empty(t, r.Tables)
	assert.NotEmpty(t, r.Outputs)
}

func TestDifferences(t *testing.T) {
	w := ways(t, "", "")
	for name, c := range map[string]struct {
		without, with []string
		says          string
	}{
		"the same, in another order": {[]string{"a\nb\n", "b\na\n"}, []string{"b\na\n", "exanet: hello\na\nb\n"},
			""},
		"another number, always": {[]string{"x 1", "x 1"}, []string{"x 1", "x 2"},
			`outputs differ, first in run 2: "x 1" without, "x 2" with`},
		"numbers that change anyway": {[]string{"t 1.5 s", "t  -2e9 s"}, []string{"t 3 s", "t 4 s"}, ""},
		"another text beside them": {[]string{"t 1 s", "t 2 s"}, []string{"t 3 s", "t 4 us"},
			`first in run 2: "t 0 s" without, "t 0 us" with`},
		"text that changes anyway":      {[]string{"a", "b"}, []string{"c", "d"}, ""},
		"lines that the other has not":  {[]string{"a\nb", "a\nb"}, []string{"a", "a"}, `"b" without`},
		"lines that only the other has": {[]string{"a", "a"}, []string{"a\nb", "a"}, `"b" with`},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReport("app", w, [2][]Outcome{outcomesOf(c.without...), outcomesOf(c.with...)})
			if c.says == "" {
				assert.Empty(t, r.Outputs)
			} else {
				assert.Contains(t, r.Outputs, c.says)
			}
			assert.Empty(t, r.Codes)
		})
	}
	failing := outcomesOf("", "")
	failing[1].Code = 139
	assert.Equal(t, "exit codes differ: [0] without, [0 139] with",
		NewReport("app", w, [2][]Outcome{outcomesOf("", ""), failing}).Codes)
}

func TestRatioOfNothing(t *testing.T) {
	zero := bench.Column{Name: "a", Rows: []bench.Row{{Repeats: []float64{0, 0}}}}
	one := bench.Column{Name: "b", Rows: []bench.Row{{Repeats: []float64{1, 1}}}}
	assert.Equal(t, []float64{0, 0}, bench.Ratios("a", []bench.Column{zero, one})[1].Rows[0].Repeats)
}
