//go:build linux

package guests

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/u-root/u-root/pkg/cpio"
)

// An image has folders before what is in them, and our first process behind another's.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), mode))
		return file
	}
	write("kernel/modules/virtio.ko", "module", 0o644)
	first := write("first", "ours", 0o755)
	var other strings.Builder
	w := cpio.Newc.Writer(&other)
	require.NoError(t, w.WriteRecord(cpio.Symlink("init", "bbin/init")))
	require.NoError(t, cpio.WriteTrailer(w))

	image, err := NewImage(filepath.Join(dir, "kernel"), first, write("other", other.String(), 0o644))
	require.NoError(t, err)
	require.NoError(t, image.Add(write("cg", "program", 0o700), "usr/bin/cg"))
	f, err := image.File()
	require.NoError(t, err)
	defer f.Close()

	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), other.String()))
	records, err := cpio.ReadAllRecords(cpio.Newc.Reader(strings.NewReader(string(text[other.Len():]))))
	require.NoError(t, err)
	seen := map[string]cpio.Record{}
	for _, r := range records {
		if parent := filepath.Dir(r.Name); parent != "." {
			require.Contains(t, seen, parent, r.Name)
		}
		seen[r.Name] = r
	}
	for name, want := range map[string]string{"init": "ours", "modules/virtio.ko": "module", "usr/bin/cg": "program",
		"bin/run": "/init"} {
		require.Contains(t, seen, name)
		got, err := io.ReadAll(io.NewSectionReader(seen[name], 0, 100))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.EqualValues(t, 0o700, seen["usr/bin/cg"].Mode&0o777)
}

// What is missing is said in one line.
func TestMissing(t *testing.T) {
	_, err := Start(context.Background(), Config{Kernel: t.TempDir()})
	require.Error(t, err)
	if _, e := findQEMU(); e == nil {
		require.ErrorContains(t, err, "scripts/guests.sh")
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	t.Setenv("PATH", "")
	_, err = Start(context.Background(), Config{Kernel: t.TempDir()})
	require.ErrorContains(t, err, "apt-get install qemu-system-arm")
	require.NotContains(t, err.Error(), "\n")
}
