// Package atomicfile writes files that take their name when they are complete: where that
// goes wrong, on a full disk for instance, what had the name before is still there.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	_ "github.com/exanet-mpi/exanet/internal/platform"
)

// Create begins a file in the folder where it will be. Its owner ends it by
// CloseAtomicallyReplace, and calls Cleanup in any case. Create refuses the name of what
// is no regular file, which would be replaced as well: /dev/null, for instance.
func Create(name string) (*renameio.PendingFile, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is there, and no file", name)
	}
	f, err := renameio.NewPendingFile(name, renameio.WithTempDir(filepath.Dir(name)),
		renameio.WithStaticPermissions(0o644))
	if path := new(fs.PathError); errors.As(err, &path) { // of a name that nobody has asked for
		return nil, fmt.Errorf("cannot write %s: %w", name, path.Err)
	}
	return f, err
}

// WriteFile makes a file of a text.
func WriteFile(name string, text []byte) error {
	f, err := Create(name)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
