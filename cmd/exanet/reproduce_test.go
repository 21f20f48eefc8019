package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReproduceFit(t *testing.T) {
	out, errs, code := exanet(t, "", "reproduce", "fit")
	require.Zero(t, code, errs)
	require.Regexp(t, `(?m)^write_start +[0-9.]+ +ns +E16`, out)
	require.Regexp(t, `(?m)^E14 +46\.0 +4[0-9]\.`, out)
	require.NotContains(t, out, "E17")
}

func TestReproduceRefuses(t *testing.T) {
	_, errs, code := exanet(t, "", "reproduce")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--out DIR")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, errs, code = exanet(t, "", "reproduce", "--out", file)
	require.NotZero(t, code)
	require.Contains(t, errs, file)
}
