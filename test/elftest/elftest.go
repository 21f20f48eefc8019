// Package elftest makes ELF files for tests: executables and libraries that say what
// they are linked to, and have nothing else in them.
package elftest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/ldso"
)

// File is what a file says of itself.
type File struct {
	Machine        elf.Machine // 0: that of this host
	Library        bool        // it names no dynamic linker
	Needed         []string
	RPATH, RUNPATH string
}

// Foreign is a machine that this host is not.
func Foreign() elf.Machine {
	if ldso.Native() == elf.EM_AARCH64 {
		return elf.EM_X86_64
	}
	return elf.EM_AARCH64
}

// Write writes an executable file, and the directories that it is in.
func (f File) Write(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	require.NoError(t, os.WriteFile(path, f.image(), 0o777))
}

const (
	headerSize  = 64
	progSize    = 56
	sectionSize = 64
	linker      = "/lib/ld.so\x00"
)

// image lays a file out: header, a program header, the name of the linker, strings,
// dynamic section, section headers.
func (f File) image() []byte {
	names := bytes.NewBuffer([]byte{0})
	var dynamic []elf.Dyn64
	add := func(tag elf.DynTag, value string) {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(tag), Val: uint64(names.Len())})
		names.WriteString(value + "\x00")
	}
	for _, n := range f.Needed {
		add(elf.DT_NEEDED, n)
	}
	if f.RPATH != "" {
		add(elf.DT_RPATH, f.RPATH)
	}
	if f.RUNPATH != "" {
		add(elf.DT_RUNPATH, f.RUNPATH)
	}
	dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_NULL)})

	namesAt := headerSize + progSize + len(linker)
	dynamicAt := namesAt + names.Len()
	sectionsAt := dynamicAt + binary.Size(dynamic)
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
			byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_DYN),
		Machine: uint16(f.Machine), Version: uint32(elf.EV_CURRENT),
		Phoff: headerSize, Shoff: uint64(sectionsAt),
		Ehsize: headerSize, Phentsize: progSize, Phnum: 1, Shentsize: sectionSize, Shnum: 3, Shstrndx: 1,
	}
	if f.Machine == 0 {
		h.Machine = uint16(ldso.Native())
	}
	prog := elf.Prog64{Type: uint32(elf.PT_INTERP), Off: headerSize + progSize, Filesz: uint64(len(linker)),
		Memsz: uint64(len(linker))}
	if f.Library {
		prog.Type = uint32(elf.PT_NULL)
	}
	sections := []elf.Section64{
		{},
		{Type: uint32(elf.SHT_STRTAB), Off: uint64(namesAt), Size: uint64(names.Len())},
		{Type: uint32(elf.SHT_DYNAMIC), Off: uint64(dynamicAt), Size: uint64(binary.Size(dynamic)), Link: 1,
			Entsize: 16},
	}
	var b bytes.Buffer
	for _, part := range []any{h, prog, []byte(linker), names.Bytes(), dynamic, sections} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err) // all are of fixed size
		}
	}
	return b.Bytes()
}
