package main

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// Without a terminal there is a line now and then, and none after the end.
func TestProgressWithoutATerminal(t *testing.T) {
	var out, errs bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	c.SetErr(&errs)
	p := newProgress(c, 10, "counting")
	p.add(3)
	p.line()
	require.Regexp(t, `^exanet: counting: 3 of 10, after \d+s\n$`, errs.String())
	errs.Reset()
	p.at(5, 20, "weighing")
	p.hide()
	p.line()
	require.Regexp(t, `^exanet: weighing: 5 of 20, after \d+s\n$`, errs.String())
	errs.Reset()
	p.end()
	p.line()
	require.Empty(t, errs.String())

	unknown := newProgress(c, 0, "fitting")
	unknown.line()
	require.Regexp(t, `^exanet: fitting, after \d+s\n$`, errs.String())
	unknown.end()
	require.Empty(t, out.String())
}
