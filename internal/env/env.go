// Package env has the environment variables that the module's programs read: what a user
// may set, and what a launcher tells the ranks that it starts. All begin with EXANET_, and
// those of tests with EXANET_TEST_.
package env

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// What a user may set.
const (
	Variant = "EXANET_VARIANT" // the protocol
	Bands   = "EXANET_BANDS"   // sizes between which the protocol customized changes
	Device  = "EXANET_DEVICE"  // the fabric
	Coll    = "EXANET_COLL"    // algorithms of collectives
	Stats   = "EXANET_STATS"   // a folder for what the ranks count
	Check   = "EXANET_CHECK"   // the checking mode
	Network = "EXANET_NETWORK" // which of a host's networks the ranks use
	Silence = "EXANET_SILENCE" // how long a host may be silent before it is dead
	Verbose = "EXANET_VERBOSE" // the preload library says that it is there
	Disable = "EXANET_DISABLE" // the preload library leaves the program alone
)

// What a launcher tells a rank.
const (
	Rank      = "EXANET_RANK"
	Size      = "EXANET_SIZE"
	Job       = "EXANET_JOB"       // file descriptor of the job's segment
	Control   = "EXANET_CONTROL"   // file descriptor of the connection to the launcher
	Registers = "EXANET_REGISTERS" // file descriptor of the software device's pages
	Sim       = "EXANET_SIM"       // file descriptor of a simulated job
	Watch     = "EXANET_WATCH"     // abstract socket of exanet preload --timeout
	Meet      = "EXANET_MEET"      // where ranks that talk over a network find each other, and the job's secret
)

const (
	prefix = "EXANET_"
	tests  = "EXANET_TEST_"
)

var (
	settings = []string{Variant, Bands, Device, Coll, Stats, Check, Network, Silence, Verbose, Disable}
	told     = []string{Rank, Size, Job, Control, Registers, Sim, Watch, Meet}
)

// Mistakes returns a line for each variable of an environment that looks like a setting and is
// none, in their order, with the setting that its name is like; and for a switch that is neither on nor off.
func Mistakes(environ []string) (lines []string) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		var line string
		switch {
		case name == Verbose || name == Disable:
			if slices.Contains([]string{"", "0", "1"}, value) {
				continue
			}
			line = kv + " counts as 1; give 1, or 0 as without it"
		case !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, tests) ||
			slices.Contains(settings, name) || slices.Contains(told, name):
			continue
		default:
			line = name + " is not a setting"
			if s := nearest(name); s != "" {
				line += "; did you mean " + s + "?"
			} else {
				line += "; there are " + strings.Join(settings, ", ")
			}
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

var warned sync.Once

// WarnOnce writes the mistakes in this process's environment, the first time that it is called.
func WarnOnce(w io.Writer) {
	warned.Do(func() {
		for _, line := range Mistakes(os.Environ()) {
			fmt.Fprintln(w, "exanet: "+line)
		}
	})
}

// nearest returns the setting that takes the fewest edits to reach, if these are few.
func nearest(name string) (best string) {
	few := 3
	for _, s := range settings {
		if d := edits(strings.ToUpper(name), s); d <= few && (best == "" || d < few) {
			best, few = s, d
		}
	}
	return best
}

// edits is the number of letters to insert, delete or replace that make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
