//go:build real

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A library that is built for one protocol has that one, and says so of others, in whose jobs
// the program runs over its own MPI.
func TestALibraryOfOneProtocol(t *testing.T) {
	bin := t.TempDir()
	out, err := exec.Command("make", "-C", "../..", "preload-mpich", "VARIANT=rtr", "BIN="+bin).CombinedOutput()
	require.NoError(t, err, string(out))
	lib, program := "LD_PRELOAD="+filepath.Join(bin, "libexanet-mpich.so"), mpich.compile(t, "idup")
	alone := mpich.job(t, 2, nil, program)
	require.Zero(t, alone.code, alone.out)

	got := mpich.job(t, 2, []string{lib, "EXANET_VERBOSE=1"}, program)
	assert.Zero(t, got.code, got.out)
	assert.Contains(t, got.out, "exanet: 2 ranks, protocol rtr\n")

	got = mpich.job(t, 2, []string{lib, "EXANET_VARIANT=ticket"}, program)
	assert.Zero(t, got.code, got.out)
	assert.Contains(t, got.out, `built with the tag rtr and has no protocol "ticket"`)
}
