// Package today tests what scripts/root.sh says of a suite of Debian that changes from day to day (make test-today),
// with stand-ins for the commands that ask a mirror.
package today

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commands are the stand-ins: a mirror without the packages of GONE, and a root with the versions of MPICH and OPENMPI.
var commands = map[string]string{
	"id":         `echo 0`,
	"unshare":    `shift 3; exec "$@"`,
	"dpkg-query": `for last; do :; done; case $last in mpich) echo $MPICH;; *) echo $OPENMPI;; esac`,
	"apt-get": `case $1 in
		indextargets) echo "Debian main sid there" ;;
		install) for gone in $GONE; do case " $* " in *" $gone "*) exit 100 ;; esac; done ;;
		esac`,
	"mmdebstrap": `[ -z "$REPLACED" ] || exit 1
		for last; do before=$new new=$last; done; mkdir "$before"; echo "$@" >"$before/words"`,
}

// root runs the script for a folder, with more in its environment, and returns what it said, and how it ended.
func root(t *testing.T, dir string, env ...string) (said string, err error) {
	t.Helper()
	bin := t.TempDir()
	for name, text := range commands {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	cmd := exec.Command("../../scripts/root.sh", "sid", dir)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "MPICH=5.0.2-1", "OPENMPI=6.0.0~rc2-3",
		"PROGRAMS=hpcc lammps")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A root says which versions it has, made or found.
func TestVersions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	said, err := root(t, dir)
	require.NoError(t, err, said)
	assert.Equal(t, "the root of sid has MPICH 5.0.2, Open MPI 6.0.0rc2\n", said)
	words, err := os.ReadFile(filepath.Join(dir, "words"))
	require.NoError(t, err)
	assert.Contains(t, string(words), "openmpi-bin hpcc lammps")

	said, err = root(t, dir, "MPICH=4.3.0+really4.2.1-1", "OPENMPI=5.0.7-1", "REPLACED=1")
	require.NoError(t, err, said)
	assert.Equal(t, "the root of sid has MPICH 4.2.1, Open MPI 5.0.7\n", said)
	said, err = root(t, dir, "MPICH=1:5.1+ds-2")
	require.NoError(t, err, said)
	lines := strings.Split(strings.TrimSpace(said), "\n")
	require.Len(t, lines, 2, said)
	assert.Equal(t, "the root of sid has MPICH 5.1, Open MPI 6.0.0rc2", lines[0])
	assert.Contains(t, lines[1], "write these into its table")
}

// What has gone is named, with what to do: without a program its tests are left out, without an MPI there is no root.
func TestGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	said, err := root(t, dir, "GONE=lammps")
	require.NoError(t, err, said)
	assert.Contains(t, said, "sid cannot install lammps today: its tests are left out\n")
	words, err := os.ReadFile(filepath.Join(dir, "words"))
	require.NoError(t, err)
	assert.Contains(t, string(words), "hpcc")
	assert.NotContains(t, string(words), "lammps")

	for _, c := range []struct{ env, says string }{
		{"GONE=openmpi-bin libmpich-dev", "sid cannot install libmpich-dev openmpi-bin today: wait some days, or"},
		{"REPLACED=1", "no root of sid is to be had from this machine's mirror: if a package was replaced meanwhile"},
	} {
		dir := filepath.Join(t.TempDir(), "root")
		said, err := root(t, dir, c.env)
		require.Error(t, err, said)
		assert.Equal(t, 1, strings.Count(said, "\n"), said)
		assert.Contains(t, said, c.says)
		assert.NoDirExists(t, dir)
	}
}
