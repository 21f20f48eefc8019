package reproduce

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaimsAreAll62AndKnowHowTheyAreSimulated(t *testing.T) {
	claims, err := Claims(Thesis)
	require.NoError(t, err)
	require.Len(t, claims, 62)
	count := map[Kind]int{}
	for _, c := range claims {
		count[c.Kind]++
		_, simulated := rows[c.ID]
		switch c.Kind {
		case Exact:
			require.NotNil(t, transfers[c.Sizes], c.ID)
		case NotScored:
			require.NotEmpty(t, discussed[c.ID], c.ID)
		default:
			require.True(t, simulated != (notBuilt[c.ID] != ""), "%s is simulated, or not built", c.ID)
		}
	}
	require.Equal(t, map[Kind]int{Exact: 10, NotScored: 2, Calibration: 5, Prediction: 45}, count)
	for id := range rows {
		require.Contains(t, []Kind{Calibration, Prediction}, kindOf(claims, id), id)
	}
}

func kindOf(claims []Claim, id string) Kind {
	for _, c := range claims {
		if c.ID == id {
			return c.Kind
		}
	}
	return ""
}

func TestAllocationRowsAreThoseThatTheTextPutsDownToItsMemoryPool(t *testing.T) {
	claims, err := Claims("")
	require.NoError(t, err)
	var ids []string
	for _, c := range claims {
		if c.Allocation() {
			ids = append(ids, c.ID)
		}
	}
	require.Equal(t, []string{"E7", "E10", "E14", "E23", "E26", "E31"}, ids)
}

func TestWhatIsNoListOfClaimsIsRefused(t *testing.T) {
	text, err := os.ReadFile("claims.csv")
	require.NoError(t, err)
	head, rest, _ := strings.Cut(string(text), "\n")
	first, _, _ := strings.Cut(rest, "\n")
	for why, bad := range map[string]string{
		"columns": strings.Replace(head, "expected", "wanted", 1) + "\n" + first,
		"twice":   head + "\n" + first + "\n" + first,
		"kind":    head + "\n" + strings.Replace(first, "calibration", "guess", 1),
		"ranks":   head + "\n" + strings.Replace(first, ",2,", ",two,", 1),
		"number":  head + "\n" + strings.Replace(first, "1.3", "much", 1),
	} {
		_, err := parseClaims(bad)
		require.Error(t, err, why)
	}
}

func TestExpectationsAreReadAsTheTextMeansThem(t *testing.T) {
	claims, err := Claims(Thesis)
	require.NoError(t, err)
	want := map[string]expectation{
		"E1":  {plain, []span{{1.3, 1.3}}},
		"E3":  {upTo, []span{{-33, -33}}},
		"E4":  {sign, []span{{-1, -1}}},
		"E8":  {atMost, []span{{0.5, 0.5}}},
		"E10": {atMost, []span{{-5, -5}}},
		"E16": {plain, []span{{15.71, 15.71}, {26.92, 26.92}, {52.73, 52.73}}},
		"E21": {plain, []span{{-25, -30}}},
		"E27": {plain, []span{{-7, -10}}},
		"E28": {plain, []span{{20, 25}}},
		"E32": {plain, []span{{20, 36}}},
		"E34": {upTo, []span{{20, 20}}},
		"E37": {upTo, []span{{-46, -46}}},
		"E44": {plain, []span{{-10, -10}, {-20, -20}, {-20, -20}, {-15, -15}}},
		"E48": {plain, []span{{-12, -20}}},
		"E49": {plain, []span{{2, 3}}},
		"E57": {sign, []span{{1, 1}}},
		"E58": {form: zero},
		"E60": {atMost, []span{{3, 3}}},
	}
	for _, c := range claims {
		w, ok := want[c.ID]
		if !ok {
			continue
		}
		e, err := c.expectation()
		require.NoError(t, err)
		require.Equal(t, w, e, c.ID)
	}
}

func TestRule(t *testing.T) {
	number := func(f form, spans ...span) expectation { return expectation{f, spans} }
	ten, range2030 := span{-10, -10}, span{20, 30}
	for _, x := range []struct {
		what   string
		e      expectation
		groups [][]float64
		share  bool
		agrees bool
	}{
		{"half", number(plain, ten), [][]float64{{-5}}, false, true},
		{"twice", number(plain, ten), [][]float64{{-20}}, false, true},
		{"less than half", number(plain, ten), [][]float64{{-4.9}}, false, false},
		{"more than twice", number(plain, ten), [][]float64{{-20.1}}, false, false},
		{"wrong sign", number(plain, ten), [][]float64{{10}}, false, false},
		{"nothing", number(plain, ten), [][]float64{{0}}, false, false},
		{"the mean counts", number(plain, ten), [][]float64{{-1, -13}}, false, true},
		{"every group must agree", number(plain, ten), [][]float64{{-10}, {-1}}, false, false},
		{"each group has its number", number(plain, ten, span{100, 100}), [][]float64{{-10}, {110}}, false, true},
		{"each group has its number, not another's", number(plain, ten, span{100, 100}), [][]float64{{100}, {-10}},
			false, false},
		{"range, half of the least", number(plain, range2030), [][]float64{{10}}, false, true},
		{"range, twice the most", number(plain, range2030), [][]float64{{60}}, false, true},
		{"range, beyond", number(plain, range2030), [][]float64{{61}}, false, false},
		{"up to: the largest counts", number(upTo, ten), [][]float64{{0, -1}, {-9}}, false, true},
		{"up to: in its direction", number(upTo, ten), [][]float64{{12, -1}}, false, false},
		{"up to: not too far", number(upTo, ten), [][]float64{{-5, -40}}, false, false},
		{"below: any magnitude that is less", number(atMost, ten), [][]float64{{-0.1, -3}}, false, true},
		{"below: none twice as far", number(atMost, ten), [][]float64{{-1, -21}}, false, false},
		{"below: the sign counts", number(atMost, ten), [][]float64{{1}}, false, false},
		{"a share of 0 is below", number(atMost, span{0.5, 0.5}), [][]float64{{0, 0}}, true, true},
		{"a share is at most its bound", number(atMost, span{0.5, 0.5}), [][]float64{{0, 0.6}}, true, false},
		{"<0", number(sign, span{-1, -1}), [][]float64{{-0.6}}, false, true},
		{"<0, next to nothing", number(sign, span{-1, -1}), [][]float64{{-0.4}}, false, false},
		{"0", number(zero), [][]float64{{4, -4}, {4.9}}, false, true},
		{"not 0", number(zero), [][]float64{{6}}, false, false},
		{"no figures", number(plain, ten), nil, false, false},
	} {
		var groups []group
		for _, v := range x.groups {
			groups = append(groups, group{values: v})
		}
		agrees, _ := x.e.agrees(groups, x.share)
		require.Equal(t, x.agrees, agrees, x.what)
	}
}

func TestControlMessagesOfExactRowsAreRead(t *testing.T) {
	require.Equal(t, []string{"RTS+CTS+Ack"}, alternatives("RTS+CTS+Ack"))
	require.Equal(t, []string{"RTR+Env"}, alternatives("RTR+Env"))
	require.Equal(t, []string{"RTR+EnvD", "EnvD+Ack"}, alternatives("EnvD plus RTR or Ack"))
	require.Equal(t, []string{"EnvDS+Ack"}, alternatives("EnvDS+Ack"))
}
