package net

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

// Secret is what the ranks of a job know and nobody else.
type Secret [32]byte

// NewSecret makes one.
func NewSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails
	return s
}

// gate lets nobody in who does not know the secret of the job.
type gate struct {
	secret Secret
	me     uint32 // a rank, or thePlace
}

// What the two ends say. Each proves that it knows the secret, by a digest that is made with it of both ends'
// random numbers. The end that was called is the first to do so.
const greeting = "exanet1\n"

type hello struct {
	Greeting [8]byte
	From, To uint32
	Nonce    [16]byte
}

type proof [sha256.Size]byte

func (g *gate) proof(side string, h *hello, answer []byte) (p proof) {
	d := hmac.New(sha256.New, g.secret[:])
	_, _ = io.WriteString(d, side)
	_ = binary.Write(d, binary.LittleEndian, h)
	d.Write(answer)
	d.Sum(p[:0])
	return p
}

var errStranger = errors.New("the other end is not of this job")

// knock is the end that calls.
func (g *gate) knock(c net.Conn, to int) error {
	_ = c.SetDeadline(time.Now().Add(helloTime))
	h := hello{From: g.me, To: uint32(to)}
	copy(h.Greeting[:], greeting)
	_, _ = rand.Read(h.Nonce[:])
	if err := binary.Write(c, binary.LittleEndian, &h); err != nil {
		return err
	}
	var answer struct {
		Nonce [16]byte
		Proof proof
	}
	if err := binary.Read(c, binary.LittleEndian, &answer); err != nil {
		return err
	}
	if want := g.proof("called", &h, answer.Nonce[:]); !hmac.Equal(want[:], answer.Proof[:]) {
		return errStranger
	}
	mine := g.proof("calls", &h, answer.Nonce[:])
	if _, err := c.Write(mine[:]); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// admit is the end that is called. It returns who has called.
func (g *gate) admit(c net.Conn) (from int, err error) {
	_ = c.SetDeadline(time.Now().Add(proveTime))
	var h hello
	if err := binary.Read(c, binary.LittleEndian, &h); err != nil {
		return 0, err
	}
	if string(h.Greeting[:]) != greeting || h.To != g.me {
		return 0, errStranger
	}
	var answer struct {
		Nonce [16]byte
		Proof proof
	}
	_, _ = rand.Read(answer.Nonce[:])
	answer.Proof = g.proof("called", &h, answer.Nonce[:])
	if err := binary.Write(c, binary.LittleEndian, &answer); err != nil {
		return 0, err
	}
	var theirs proof
	if _, err := io.ReadFull(c, theirs[:]); err != nil {
		return 0, err
	}
	if want := g.proof("calls", &h, answer.Nonce[:]); !hmac.Equal(want[:], theirs[:]) {
		return 0, errStranger
	}
	return int(h.From), c.SetDeadline(time.Time{})
}
