package reproduce

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Four fifths of what Small and Yuan claim come out, all of the progress benchmark's, and each other row says why not.
func TestSmallAndYuanComeOut(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, Run(t.Context(), Config{Out: out, Paper: SmallYuan}))
	f, err := os.Open(filepath.Join(out, "claims.csv"))
	require.NoError(t, err)
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	claims, err := Claims(SmallYuan)
	require.NoError(t, err)
	require.Len(t, table, len(claims)+1)
	count, known := map[Verdict]int{}, 0
	for i, c := range claims {
		r := table[i+1]
		require.Equal(t, c.ID, r[0])
		verdict := Verdict(r[4])
		count[verdict]++
		if c.Bench == "progress" {
			require.Equal(t, Agrees, verdict, "%s: %s, not %s", c.ID, r[3], c.Expected)
		}
		if verdict == Disagrees {
			require.NotEmpty(t, customizedReasons[c.ID], "%s: %s, not %s", c.ID, r[3], c.Expected)
		} else {
			require.Empty(t, customizedReasons[c.ID], "%s agrees", c.ID)
		}
		if _, ok := customizedRows[c.ID]; ok {
			known++
		}
	}
	require.Equal(t, len(customizedRows), known, "a row without a claim")
	require.GreaterOrEqual(t, 5*count[Agrees], 4*(count[Agrees]+count[Disagrees]), "%v", count)
	require.Equal(t, len(customizedDiscussed), count[Unscored])

	page, err := os.ReadFile(filepath.Join(out, "small-yuan.html"))
	require.NoError(t, err)
	require.Equal(t, 7, strings.Count(string(page), "<svg"))
	for _, c := range claims {
		require.Contains(t, string(page), c.ID)
	}
	require.NoFileExists(t, filepath.Join(out, "report.html"))
}
