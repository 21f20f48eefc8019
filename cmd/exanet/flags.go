package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/exanet-mpi/exanet/emu/regs"
)

// wrongValue says which flag has a value that it cannot have, and what it wants.
func wrongValue(e *pflag.InvalidValueError) error {
	flag, value := e.GetFlag(), e.GetValue()
	want := e.Unwrap() // a flag of our own says it
	var number *strconv.NumError
	switch kind := flag.Value.Type(); {
	case kind == "bool":
		want = errors.New("want true or false, or the flag alone")
	case kind == "duration":
		want = errors.New("want a time, as 90s or 5m")
	case kind == "uint64" && errors.As(want, &number):
		want = fmt.Errorf("want a number from 0 on (%w)", number.Err)
	case errors.As(want, &number):
		want = fmt.Errorf("want a number (%w)", number.Err)
	}
	return fmt.Errorf("--%s %s: %w", flag.Name, cmp.Or(value, `""`), want)
}

// someOf reads the value of a flag that is all, or a comma list of some of these.
func someOf(flag, value string, all []string) ([]string, error) {
	if value == "all" {
		return all, nil
	}
	var names []string
	for name := range strings.SplitSeq(value, ",") {
		switch {
		case !slices.Contains(all, name):
			return nil, usageErrorf("--%s %s: use all, or some of %s with commas", flag, cmp.Or(name, `""`),
				strings.Join(all, ", "))
		case slices.Contains(names, name):
			return nil, usageErrorf("--%s: %s is there twice", flag, name)
		}
		names = append(names, name)
	}
	return names, nil
}

// rankCount is a flag value: a number of ranks; zero until it is given.
type rankCount int

func (n *rankCount) String() string { return "" }

func (n *rankCount) Type() string { return "N" }

func (n *rankCount) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return errors.New("want a whole number of ranks, 1 or more")
	}
	*n = rankCount(v)
	return nil
}

// nodeCount is a flag value: a number of nodes of a model; zero until it is given.
type nodeCount int

func (n *nodeCount) String() string { return "" }

func (n *nodeCount) Type() string { return "N" }

func (n *nodeCount) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 || v > regs.MostNodes {
		return fmt.Errorf("want a number of nodes from 1 to %d, as 4; paths go into --device, as "+
			"registers:/dev/exanet0,/dev/exanet1", regs.MostNodes)
	}
	*n = nodeCount(v)
	return nil
}
