//go:build linux

package guests

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/u-root/u-root/pkg/cpio"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// Image is what guests boot: the files of their first file system, as a cpio archive.
type Image struct {
	archive bytes.Buffer
	w       cpio.RecordWriter
	made    map[string]bool // folders
}

// NewImage begins an image with the modules of a kernel and a first process, a program
// that Build has made of package init. If there is another image that people look around in,
// such as u-root's, its archive comes first, and its first process is not used.
func NewImage(kernel, first, other string) (*Image, error) {
	i := &Image{made: map[string]bool{".": true, "/": true}}
	if other != "" {
		b, err := os.ReadFile(other)
		if err != nil {
			return nil, err
		}
		i.archive.Write(b)
	}
	i.w = cpio.Newc.Writer(&i.archive)
	if err := i.folder("dev"); err != nil {
		return nil, err
	}
	if err := i.w.WriteRecord(cpio.CharDev("dev/console", 0o600, 5, 1)); err != nil {
		return nil, err
	}
	if err := i.Add(first, "init"); err != nil {
		return nil, err
	}
	if err := i.Link("/init", "bin/run"); err != nil {
		return nil, err
	}
	modules, err := filepath.Glob(filepath.Join(kernel, "modules", "*.ko"))
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		if err := i.Add(m, path.Join("modules", filepath.Base(m))); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// folder makes a folder and those that it is in.
func (i *Image) folder(name string) error {
	if i.made[name] {
		return nil
	}
	if err := i.folder(path.Dir(name)); err != nil {
		return err
	}
	i.made[name] = true
	return i.w.WriteRecord(cpio.Directory(name, 0o755))
}

// Add adds a file of this machine, under a name without a slash in front.
func (i *Image) Add(file, name string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	st, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := i.folder(path.Dir(name)); err != nil {
		return err
	}
	return i.w.WriteRecord(cpio.StaticFile(name, string(b), uint64(st.Mode().Perm())))
}

// Link adds a symbolic link.
func (i *Image) Link(target, name string) error {
	if err := i.folder(path.Dir(name)); err != nil {
		return err
	}
	return i.w.WriteRecord(cpio.Symlink(name, target))
}

// File ends the image, as a memory file.
func (i *Image) File() (*os.File, error) {
	if err := cpio.WriteTrailer(i.w); err != nil {
		return nil, err
	}
	fd, err := sys.SealedMemory("exanet-image", int64(i.archive.Len()))
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "exanet-image")
	if n, err := io.Copy(f, &i.archive); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("image of guests, after %d bytes: %w", n, err)
	}
	return f, nil
}
