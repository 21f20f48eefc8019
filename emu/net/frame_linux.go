package net

import (
	"encoding/binary"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// A frame is what goes over a connection at a time: a header of 48 bytes, all numbers in little
// endian, and size bytes of data.
//
//	kind     words                              data
//	message  the header of the message          its payload
//	piece    notify address, offset, 1: last    of a write; the last piece brings the notification
//	fetch    notify address of the source, destination's two addresses   the size, 8 bytes
//	bye      -                                  -; nothing comes any more
type frame struct {
	kind kind
	size uint32
	word packetizer.Header
	note rdmaeng.Notification
}

type kind uint32

const (
	message kind = 1 + iota
	piece
	fetch
	bye
)

const headerSize = 8 + 24 + 16

func (f *frame) encode(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, uint32(f.kind))
	le.PutUint32(b[4:], f.size)
	for i, w := range f.word {
		le.PutUint64(b[8+8*i:], w)
	}
	for i, n := range f.note {
		le.PutUint32(b[32+4*i:], uint32(n))
	}
}

func (f *frame) decode(b []byte) {
	le := binary.LittleEndian
	f.kind, f.size = kind(le.Uint32(b)), le.Uint32(b[4:])
	for i := range f.word {
		f.word[i] = le.Uint64(b[8+8*i:])
	}
	for i := range f.note {
		f.note[i] = int32(le.Uint32(b[32+4*i:]))
	}
}

// sound reports whether a frame is one that a rank sends, whose messages have a payload of most bytes at most.
func (f *frame) sound(most int) bool {
	switch f.kind {
	case message:
		return int(f.size) <= most
	case piece:
		return f.size <= pieceMost && f.word[2] <= 1
	case fetch:
		return f.size == 8
	case bye:
		return f.size == 0
	}
	return false
}
