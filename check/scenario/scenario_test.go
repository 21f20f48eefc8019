package scenario

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The files of testdata show what they say. Use -rewrite to write their output
// anew, and read it.
func TestScenarios(t *testing.T) {
	play := func(t *testing.T, path string) {
		var s Player
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var args []string
			for _, a := range d.CmdArgs {
				args = append(args, a.String())
			}
			out, err := s.Exec(d.Cmd, args, d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			if strings.Contains(out, "WRONG") || strings.Contains(out, "✗") {
				t.Errorf("%s: something goes wrong:\n%s", d.Pos, out)
			}
			return out
		})
	}
	datadriven.Walk(t, "../../variants/testdata", play)
	datadriven.Walk(t, "../toy/testdata", play)
}
