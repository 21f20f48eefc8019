package ldso

import (
	"bytes"
	"encoding/binary"
)

// The cache that ldconfig writes: a header of 48 bytes, entries of 24 (flags,
// offsets of name and path as 32-bit words, and 12 bytes that do not matter
// here), and strings. All offsets count from the header. glibc before 2.32 puts
// a list of an older format before it.

const (
	cacheMagic  = "glibc-ld.so.cache1.1"
	cacheHeader = 48
	cacheEntry  = 24
)

// parseCache returns the paths of each name, the preferred ones first. Of a file
// in another format it returns nothing.
func parseCache(b []byte) map[string][]string {
	at := bytes.Index(b, []byte(cacheMagic))
	if at < 0 || len(b)-at < cacheHeader {
		return nil
	}
	b = b[at:]
	text := func(offset uint32) string {
		if int64(offset) >= int64(len(b)) {
			return ""
		}
		s, _, _ := bytes.Cut(b[offset:], []byte{0})
		return string(s)
	}
	paths := map[string][]string{}
	entries := b[cacheHeader:]
	for range binary.NativeEndian.Uint32(b[len(cacheMagic):]) {
		if len(entries) < cacheEntry {
			break
		}
		name := text(binary.NativeEndian.Uint32(entries[4:]))
		paths[name] = append(paths[name], text(binary.NativeEndian.Uint32(entries[8:])))
		entries = entries[cacheEntry:]
	}
	return paths
}
