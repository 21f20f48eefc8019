package explore

import (
	"fmt"

	"github.com/exanet-mpi/exanet/check/scenario"
)

// Scenario returns a scenario file (package check/scenario) that ends with
// the violation, and below it the chart of what happens.
func (f *Failure) Scenario(protocol string) string {
	file := scenario.Write("Counterexample: "+f.Violation.Error(), protocol, f.Config, f.Program, f.Actions, f.Settled)
	_, shown, err := scenario.PlayFile(file)
	if err != nil {
		return fmt.Sprintf("%s\n(%v)", file, err)
	}
	return file + "\n" + shown
}
