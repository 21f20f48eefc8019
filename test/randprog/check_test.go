package randprog

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

const checkSeed = 5

// box makes outcomes by hand. Messages are numbered from 0 in the order in
// which they are added.
type box struct {
	in   Inbox
	time int
}

func (b *box) message(source, tag, size int) {
	b.in.Messages = append(b.in.Messages, Message{
		Op: len(b.in.Messages), Stream: source, Source: source, Tag: tag, Size: size,
	})
}

// receive adds a receive that got message m, or was cancelled if m < 0.
func (b *box) receive(from, tag, size, m int) *Receive {
	b.time++
	r := &Receive{Op: 100 + b.time, From: from, Tag: tag, Cap: size, Done: true, DoneAt: b.time,
		Region: bytes.Clone(guards[:size+2*guardSize])}
	if m < 0 {
		r.Cancelled, r.CancelAt, r.Status = true, 1000, &Status{Cancelled: true}
	} else {
		got := b.in.Messages[m]
		r.Status = &Status{Source: got.Source, Tag: got.Tag, Bytes: got.Size}
		copy(inner(r.Region), payload(checkSeed, got.Op, got.Size))
		r.Truncated = got.Size > size
	}
	r.Sum = sum(r.Region)
	b.in.Receives = append(b.in.Receives, r)
	return r
}

func (b *box) accepted(t *testing.T) {
	t.Helper()
	require.Empty(t, b.check())
}

func (b *box) rejected(t *testing.T, why string) {
	t.Helper()
	problems := b.check()
	require.NotEmpty(t, problems)
	require.Contains(t, problems[0], why)
}

func (b *box) check() []string {
	b.in.Seed = checkSeed
	return Check(b.in)
}

// two is two equal messages of rank 1 and one of rank 2.
func two() *box {
	b := &box{}
	b.message(1, 7, 100)
	b.message(1, 7, 100)
	b.message(2, 7, 100)
	return b
}

func TestCheckAccepts(t *testing.T) {
	t.Run("in order, sources at will", func(t *testing.T) {
		b := two()
		b.receive(AnySource, 7, 100, 2)
		b.receive(1, AnyTag, 100, 0)
		b.receive(AnySource, AnyTag, 200, 1)
		b.accepted(t)
	})
	t.Run("tags overtake each other", func(t *testing.T) {
		b := &box{}
		b.message(1, 7, 8)
		b.message(1, 8, 8)
		b.receive(1, 8, 8, 1)
		b.receive(1, AnyTag, 8, 0)
		b.accepted(t)
	})
	t.Run("matches of two sources that no arrival order explains", func(t *testing.T) {
		b := &box{}
		b.message(1, 7, 8) // 0
		b.message(1, 8, 8) // 1
		b.message(2, 8, 8) // 2
		b.message(2, 7, 8) // 3
		b.receive(AnySource, 7, 8, 3)
		b.receive(AnySource, 8, 8, 1)
		b.receive(1, 7, 8, 0)
		b.receive(2, 8, 8, 2)
		b.accepted(t)
	})
	t.Run("truncation, whole or in part", func(t *testing.T) {
		b := two()
		r := b.receive(1, 7, 40, 0)
		copy(inner(r.Region), guards[:40])
		r.Sum = sum(r.Region)
		b.receive(1, 7, 99, 1)
		b.receive(2, 7, 0, 2)
		b.accepted(t)
	})
	t.Run("cancelled before a later receive got the message", func(t *testing.T) {
		b := two()
		b.receive(1, 7, 100, -1).CancelAt = 1
		b.receive(1, 7, 100, 0)
		b.receive(1, 7, 100, 1)
		b.receive(2, 7, 100, 2)
		b.accepted(t)
	})
	t.Run("cancelled message", func(t *testing.T) {
		b := two()
		b.in.Messages[0].Gone = true
		b.receive(AnySource, 7, 100, 1)
		b.receive(AnySource, 7, 100, 2)
		b.accepted(t)
	})
	t.Run("waited for together", func(t *testing.T) {
		b := two()
		batch := &Batch{Truncated: true}
		for i, size := range []int{100, 40} {
			r := b.receive(1, 7, size, i)
			r.Status, r.Truncated, r.Batch = nil, false, batch
		}
		b.receive(2, 7, 100, 2)
		b.accepted(t)
	})
}

func TestCheckRejects(t *testing.T) {
	t.Run("overtaken", func(t *testing.T) {
		b := two()
		b.receive(1, 7, 100, 1)
		b.receive(1, 7, 100, 0)
		b.receive(2, 7, 100, 2)
		b.rejected(t, "its buffer holds message #1")
	})
	t.Run("overtaken, sizes differ", func(t *testing.T) {
		b := two()
		b.in.Messages[1].Size = 30
		b.receive(AnySource, AnyTag, 100, 1)
		b.receive(1, 7, 100, 0)
		b.receive(2, 7, 100, 2)
		b.rejected(t, "should have got message #0")
	})
	t.Run("overtaken by another tag", func(t *testing.T) {
		b := &box{}
		b.message(1, 7, 0)
		b.message(1, 8, 0)
		b.receive(1, AnyTag, 100, 1)
		b.receive(1, AnyTag, 100, 0)
		b.rejected(t, "should have got message #0")
	})
	t.Run("receives out of order", func(t *testing.T) {
		b := two()
		b.in.Messages[1].Size = 30
		b.receive(AnySource, 7, 100, 1)
		b.receive(1, 7, 100, 0)
		b.receive(AnySource, 7, 100, 2)
		b.rejected(t, "should have got message #0")
	})
	t.Run("delivered twice", func(t *testing.T) {
		b := two()
		for _, m := range []int{0, 1, 1, 2} {
			b.receive(b.in.Messages[m].Source, 7, 100, m)
		}
		b.rejected(t, "although none is left for it")
	})
	t.Run("lost", func(t *testing.T) {
		b := two()
		b.receive(1, 7, 100, 0)
		b.receive(1, 7, 100, 1)
		b.rejected(t, "message #2 (rank 2, tag 7, 100 B) was received by nobody")
	})
	t.Run("cancelled message delivered", func(t *testing.T) {
		b := two()
		b.in.Messages[2].Gone = true
		b.receive(1, 7, 100, 0)
		b.receive(1, 7, 100, 1)
		b.receive(2, 7, 100, 2)
		b.rejected(t, "its buffer holds the cancelled message #2")
	})
	t.Run("never completed", func(t *testing.T) {
		b := two()
		b.receive(1, 7, 100, 0).Done = false
		b.rejected(t, "never completed")
	})
	t.Run("passed over, then cancelled", func(t *testing.T) {
		b := two()
		b.receive(AnySource, 7, 100, -1)
		b.receive(1, 7, 100, 0)
		b.receive(1, 7, 100, 1)
		b.receive(2, 7, 100, 2)
		b.rejected(t, "was cancelled later than")
	})
	t.Run("size of the batch", func(t *testing.T) {
		b := two()
		r := b.receive(1, 7, 40, 0)
		r.Batch, r.Status, r.Truncated = &Batch{}, nil, false
		b.receive(1, 7, 100, 1)
		b.receive(2, 7, 100, 2)
		b.rejected(t, "WaitAll reports truncation: false")
	})

	t.Run("probe of nothing", func(t *testing.T) {
		b := two()
		for m := range 3 {
			b.receive(b.in.Messages[m].Source, 7, 100, m)
		}
		b.in.Peeks = []Peek{{From: 1, Tag: AnyTag, Status: Status{Source: 1, Tag: 7, Bytes: 100}}}
		b.accepted(t)
		b.in.Peeks[0].From = 2
		b.rejected(t, "which nobody sent")
		b.in.Peeks[0] = Peek{From: 1, Tag: 7, Status: Status{Source: 1, Tag: 7, Bytes: 99}}
		b.rejected(t, "which nobody sent")
	})

	// One change to a single correct receive of 100 B into 200 B.
	for why, change := range map[string]func(r *Receive, buf []byte){
		"has the status":     func(r *Receive, _ []byte) { r.Status.Bytes-- },
		"of its status":      func(r *Receive, _ []byte) { r.Status.Tag++ },
		"the source 2":       func(r *Receive, _ []byte) { r.Status.Source++ },
		"its probe reported": func(r *Receive, _ []byte) { r.Probed = &Status{Source: 1, Tag: 7, Bytes: 4} },
		"truncation":         func(r *Receive, _ []byte) { r.Truncated = true },
		"byte 99 is":         func(_ *Receive, buf []byte) { buf[guardSize+99]++ },
		"offset 100 of 200":  func(_ *Receive, buf []byte) { buf[guardSize+100] = 0 },
		"offset 200 of 200":  func(_ *Receive, buf []byte) { buf[guardSize+200] = 0 },
		"memory before":      func(_ *Receive, buf []byte) { buf[guardSize-1] = 0 },
	} {
		t.Run(why, func(t *testing.T) {
			b := &box{}
			b.message(1, 7, 100)
			r := b.receive(AnySource, AnyTag, 200, 0)
			change(r, r.Region)
			r.Sum = sum(r.Region)
			b.rejected(t, why)
		})
	}
	t.Run("late write of the right bytes", func(t *testing.T) {
		b := &box{}
		b.message(1, 7, 100)
		b.receive(1, 7, 100, 0).Sum++
		b.rejected(t, "was written after its completion")
	})
	t.Run("write to a cancelled receive", func(t *testing.T) {
		b := &box{}
		b.receive(1, 7, 100, -1).Region[guardSize+50] = 0
		b.rejected(t, "was cancelled, yet its buffer was written")
	})
	t.Run("truncated message with foreign bytes", func(t *testing.T) {
		b := &box{}
		b.message(1, 7, 100)
		r := b.receive(1, 7, 40, 0)
		r.Region[guardSize+20] ^= 1
		r.Sum = sum(r.Region)
		b.rejected(t, "byte 20 is")
	})
}
