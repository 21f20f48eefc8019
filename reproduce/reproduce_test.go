package reproduce

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/sim"
)

func TestExactRowsHold(t *testing.T) {
	claims, err := Claims(Thesis)
	require.NoError(t, err)
	l := newLab(sim.DefaultCosts(), true)
	for i := range claims {
		if c := &claims[i]; c.Kind == Exact {
			o, err := l.outcome(c)
			require.NoError(t, err, c.ID)
			require.Equal(t, Agrees, o.Verdict, "%s: %s, not %s", c.ID, o.Simulated, c.Expected)
		}
	}
}

func TestTheDefaultsAreWhatTheFitFinds(t *testing.T) {
	from := sim.DefaultCosts()
	fit, err := FitConstants(t.Context(), from)
	require.NoError(t, err)
	for _, c := range fit.Constants {
		require.InEpsilon(t, *from.Named(c.Name), c.Value, 0.02, "run exanet reproduce fit: %s", c.Name)
	}
	require.Less(t, fit.Error, 0.1)
}

func TestAFitFindsItsWayFromElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("testing.Short: -short is given, and two fits take seconds")
	}
	from := sim.DefaultCosts()
	from.Call, from.Object, from.Dequeue, from.Allocate, from.WriteStart, from.HopOutside = 100, 100, 200, 100, 1000,
		100
	fit, err := FitConstants(t.Context(), from)
	require.NoError(t, err)
	best, err := FitConstants(t.Context(), sim.DefaultCosts())
	require.NoError(t, err)
	require.InDelta(t, best.Error, fit.Error, 0.005)
}

func TestTheSolverSolves(t *testing.T) {
	x := solve([][]float64{{0, 2, 1}, {1, 1, 0}, {3, 0, 1}}, []float64{7, 3, 6})
	require.InDeltaSlice(t, []float64{1, 2, 3}, x, 1e-12)
}

// few are rows of each sort, which take little time.
var few = []string{"E1", "E4", "E9", "E14", "E16", "E17", "E22", "E25", "E31", "E38", "E48", "E50", "E53", "E61"}

func outcomes(t *testing.T, ids []string) map[string]Outcome {
	claims, err := Claims("")
	require.NoError(t, err)
	l := newLab(sim.DefaultCosts(), true)
	found := map[string]Outcome{}
	var tasks []task
	list := make([]Outcome, len(claims))
	for i := range claims {
		for _, id := range ids {
			if claims[i].ID == id {
				tasks = append(tasks, task{id, func() (err error) {
					list[i], err = l.outcome(&claims[i])
					return err
				}})
			}
		}
	}
	require.NoError(t, perform(t.Context(), tasks, nil))
	for _, o := range list {
		found[o.ID] = o
	}
	return found
}

func TestRowsComeOutTheSameTwice(t *testing.T) {
	ids := few
	if testing.Short() {
		ids = []string{"E1", "E14", "E31", "E38", "E50", "E61"}
	}
	a, b := outcomes(t, ids), outcomes(t, ids)
	require.Equal(t, a, b)
	require.Equal(t, "not built", a["E50"].Simulated)
	require.Equal(t, Disagrees, a["E50"].Verdict)
	require.Equal(t, Unscored, a["E61"].Verdict)
	for _, o := range a {
		if o.Verdict == Disagrees {
			require.NotEmpty(t, o.Why, o.ID)
		}
	}
}

func TestAFastReceiveIsDrawnWithItsMessages(t *testing.T) {
	l := newLab(sim.DefaultCosts(), true)
	base, err := l.fastReceiveChart(writeThree)
	require.NoError(t, err)
	slow, err := l.fastReceiveChart(readbased)
	require.NoError(t, err)
	require.Less(t, base.us, slow.us)
	require.Equal(t, base.messages+2, slow.messages, "RTS, CTS and Ack instead of RTR")
	require.NotEqual(t, base.image, slow.image)
}

func TestTheTableOfVerdictsIsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "claims.csv")
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, writeClaims(f, []Outcome{{Claim: Claim{ID: "E1", Kind: Calibration, Expected: "1.3"},
		Simulated: "1,31", Verdict: Agrees}}))
	require.NoError(t, f.Close())
	r, err := os.Open(name)
	require.NoError(t, err)
	defer r.Close()
	rows, err := csv.NewReader(r).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{{"id", "kind", "expected", "simulated", "verdict"},
		{"E1", "calibration", "1.3", "1,31", "agrees"}}, rows)
}
