//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"bufio"
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// Where calls are in the program, for the checking mode: the file and line of the return address, if the program
// has been compiled with -g, else the file and the address in it, as addr2line takes them.

// caller is a function in C that returns the return address of this thread's call; nil: nobody wants it.
var caller unsafe.Pointer

//export exanet_trace
func exanet_trace(f unsafe.Pointer) { caller = f }

var sites sync.Map // texts by addresses

// site names the place of the call that this thread is in, "" if it is not known.
func site() string {
	if caller == nil {
		return ""
	}
	pc := uint64(uintptr(C.exanet_where(caller)))
	text, ok := sites.Load(pc)
	if !ok {
		text = placeOf(pc)
		sites.Store(pc, text)
	}
	return text.(string)
}

// placeOf finds the file that an address has been mapped from.
func placeOf(pc uint64) string {
	maps, err := os.Open("/proc/self/maps")
	if err != nil || pc == 0 {
		return ""
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		f := strings.Fields(s.Text())
		var from, to uint64
		if n, _ := fmt.Sscanf(f[0], "%x-%x", &from, &to); n < 2 || pc < from || pc >= to || len(f) < 6 {
			continue
		}
		offset, err := strconv.ParseUint(f[2], 16, 64)
		if err != nil || strings.Contains(f[5], "libexanet-") { // the entry points of Fortran
			return ""
		}
		return lineOf(f[5], pc-from+offset)
	}
	return ""
}

// lineOf finds the line of the call before a place in a file.
func lineOf(path string, offset uint64) string {
	addr := offset
	f, err := elf.Open(path)
	if err == nil {
		defer f.Close()
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && offset >= p.Off && offset < p.Off+p.Filesz {
				addr = offset - p.Off + p.Vaddr
			}
		}
		if line := dwarfLine(f, addr-1); line != "" {
			return line
		}
	}
	return fmt.Sprintf("%s+%#x", filepath.Base(path), addr)
}

func dwarfLine(f *elf.File, addr uint64) string {
	if f.Section(".debug_line") == nil {
		return ""
	}
	d, err := f.DWARF()
	if err != nil {
		return ""
	}
	unit, err := d.Reader().SeekPC(addr)
	if err != nil {
		return ""
	}
	lines, err := d.LineReader(unit)
	if err != nil || lines == nil {
		return ""
	}
	// An optimised program has several sequences of lines, in any order, of which SeekPC of the reader sees the first.
	var e, next dwarf.LineEntry
	for e.EndSequence = true; lines.Next(&next) == nil; e = next {
		if !e.EndSequence && e.Address <= addr && addr < next.Address {
			return fmt.Sprintf("%s:%d", filepath.Base(e.File.Name), e.Line)
		}
	}
	return ""
}
