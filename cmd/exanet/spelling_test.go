package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNPIsN(t *testing.T) {
	root := newRoot()
	for line, want := range map[string]string{
		"run -np 2 prog -np 3":                   "run -n 2 prog -np 3",
		"run --variant rtr -np 2 prog":           "run --variant rtr -n 2 prog",
		"run --variant=rtr --label -np 2 prog":   "run --variant=rtr --label -n 2 prog",
		"run -np=2 prog":                         "run -n=2 prog",
		"run --variant -np prog":                 "run --variant -np prog", // its value
		"run -- -np 2":                           "run -- -np 2",
		"bench latency -np 2":                    "bench latency -n 2",
		"preload mpirun -np 2 prog":              "preload mpirun -np 2 prog",
		"compare -- mpirun.mpich -np 2 prog -np": "compare -- mpirun.mpich -np 2 prog -np",
		"frobnicate -np 2":                       "frobnicate -np 2",
		"":                                       "",
	} {
		require.Equal(t, strings.Fields(want), withNP(root, strings.Fields(line)), line)
	}
	_, errs, code := exanet(t, "", "run", "-np", "2", "true")
	require.Zero(t, code, errs)
}

// Shells offer the values that flags take.
func TestCompletionOfValues(t *testing.T) {
	for line, want := range map[string]string{
		"run --variant ":           "readbased",
		"run --device ":            "prototype",
		"explore --variant ":       "ticket-leased",
		"bench report --only ":     "applications",
		"bench latency --variant ": "ticket",
	} {
		var out, errs bytes.Buffer
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		require.Zero(t, run(args, &out, &errs), line)
		require.Contains(t, strings.Split(out.String(), "\n"), want, line)
	}
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"--help"}, &out, &errs))
	require.Contains(t, out.String(), "\n  completion ")
}
