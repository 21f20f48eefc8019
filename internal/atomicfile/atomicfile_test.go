package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What goes wrong leaves what was there, and nothing beside it.
func TestNothingIsLost(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "page")
	require.NoError(t, WriteFile(name, []byte("first")))
	f, err := Create(name)
	require.NoError(t, err)
	_, err = f.WriteString("sec")
	require.NoError(t, err)
	require.NoError(t, f.Cleanup()) // the disk is full, say
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "first", string(text))
	require.NoError(t, WriteFile(name, []byte("third")))
	text, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "third", string(text))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.ErrorContains(t, WriteFile(dir, nil), "no file")
	name = filepath.Join(dir, "missing", "page")
	require.EqualError(t, WriteFile(name, nil), "cannot write "+name+": no such file or directory")
}
