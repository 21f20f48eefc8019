package reproduce

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed claims.csv
var thesisClaims string

//go:embed small-yuan.csv
var smallYuanClaims string

// Names of the papers whose claims there are.
const (
	Thesis    = "thesis"
	SmallYuan = "small-yuan"
)

// paper is a text whose claims are held against the simulation.
type paper struct {
	name   string
	claims string
	rows   map[string]row // one for each claim of kind calibration and prediction that is simulated

	notBuilt  map[string]string // of what this project does not have
	reasons   map[string]string // why rows do not come out
	discussed map[string]string // the rows that are not scored
}

// papers are all of them.
func papers() []*paper {
	return []*paper{
		{Thesis, thesisClaims, rows, notBuilt, reasons, discussed},
		{SmallYuan, smallYuanClaims, customizedRows, nil, customizedReasons, customizedDiscussed},
	}
}

// Kind is what a claim is for.
type Kind string

// The kinds of claims.
const (
	Calibration Kind = "calibration" // constants are fitted to it
	Prediction  Kind = "prediction"  // nothing is fitted to it
	Exact       Kind = "exact"       // control messages: no constant matters
	NotScored   Kind = "not scored"  // discussed only
)

// Claim is a row of the list of what a paper's text says of its figures.
type Claim struct {
	paper    *paper
	ID       string // E1, ... of the thesis, Y1, ... of Small and Yuan
	Where    string // section and figure of the paper
	Kind     Kind
	Bench    string
	Topology string
	Ranks    []int // several where the text speaks of several; nil: any
	Sizes    string
	Quantity string
	Expected string // as the text has it
	Unit     string
	Note     string
}

// Allocation reports whether the thesis puts the claim down to its memory pool.
func (c *Claim) Allocation() bool {
	return strings.Contains(c.Note, "allocation row") || strings.Contains(c.Note, "memory pool as the cause")
}

var claimColumns = []string{"id", "where", "kind", "bench", "topology", "ranks", "sizes_bytes", "quantity", "expected",
	"unit", "note"}

// Claims returns the list of a paper, or of all if it has no name.
func Claims(name string) (list []Claim, err error) {
	for _, p := range papers() {
		if name != "" && name != p.name {
			continue
		}
		some, err := parseClaims(p.claims)
		if err != nil {
			return nil, fmt.Errorf("claims of %s: %w", p.name, err)
		}
		for i := range some {
			some[i].paper = p
		}
		list = append(list, some...)
	}
	return list, nil
}

func parseClaims(text string) ([]Claim, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || !slices.Equal(rows[0], claimColumns) {
		return nil, fmt.Errorf("the columns must be %s", strings.Join(claimColumns, ","))
	}
	var claims []Claim
	seen := map[string]bool{}
	for _, r := range rows[1:] {
		c := Claim{ID: r[0], Where: r[1], Kind: Kind(r[2]), Bench: r[3], Topology: r[4], Sizes: r[6], Quantity: r[7],
			Expected: r[8], Unit: r[9], Note: r[10]}
		if seen[c.ID] {
			return nil, fmt.Errorf("%s occurs twice", c.ID)
		}
		seen[c.ID] = true
		if !slices.Contains([]Kind{Calibration, Prediction, Exact, NotScored}, c.Kind) {
			return nil, fmt.Errorf("%s: unknown kind %q", c.ID, c.Kind)
		}
		if r[5] != "any" {
			for _, n := range strings.Split(r[5], "/") {
				v, err := strconv.Atoi(n)
				if err != nil {
					return nil, fmt.Errorf("%s: ranks %q: %w", c.ID, r[5], err)
				}
				c.Ranks = append(c.Ranks, v)
			}
		}
		if c.Kind == Calibration || c.Kind == Prediction {
			if _, err := c.expectation(); err != nil {
				return nil, err
			}
		}
		claims = append(claims, c)
	}
	return claims, nil
}
