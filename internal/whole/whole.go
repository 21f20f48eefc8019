// Package whole writes files that take their name when they are complete: where that
// goes wrong, on a full disk for instance, what had the name before is still there.
package whole

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is a file that is being written. Its owner ends it by Keep or Discard.
type File struct {
	*os.File
	name string
}

// Create begins a file in the folder where it will be. It fails if the name is that of
// something that is no file, and does not touch it.
func Create(name string) (*File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is there, and no file", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return nil, err
	}
	return &File{f, name}, nil
}

// Keep gives the file its name.
func (f *File) Keep() error {
	if err := errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.File.Name(), f.name)
}

// Discard removes the file, unless it has been kept.
func (f *File) Discard() {
	_ = f.Close()
	_ = os.Remove(f.File.Name()) // it has another name if it has been kept
}

// Write makes a file of what write writes.
func Write(name string, write func(io.Writer) error) error {
	f, err := Create(name)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return err
	}
	return f.Keep()
}

// WriteFile makes a file of a text.
func WriteFile(name string, text []byte) error {
	return Write(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
