package net

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// connect makes the connections of n ranks, each of which is told what edit has made of the cards.
func connect(t *testing.T, n int) [][]Conn {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	secret := NewSecret()
	ls, cards := make([]*Listener, n), make([][]byte, n)
	for i := range ls {
		l, err := Listen("127.0.0.1")
		require.NoError(t, err)
		ls[i], cards[i] = l, l.Card("", i)
	}
	conns, errs := make([][]Conn, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range ls {
		wg.Go(func() { conns[i], errs[i] = (&Peers{ls[i], secret, cards}).Connect(ctx, i) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return conns
}

// ends makes n ranks, each on a host of its own.
func ends(t *testing.T, n int) []*Fabric {
	fs := make([]*Fabric, n)
	for i, conns := range connect(t, n) {
		job := host.NewLocalJob(n)
		for k := range n {
			if k != i {
				job.Elsewhere(k)
			}
		}
		m, err := job.JoinLocal(i)
		require.NoError(t, err)
		fs[i], err = NewFabric(host.NewFabric(m, 0), conns, 0)
		require.NoError(t, err)
		t.Cleanup(fs[i].Close)
	}
	return fs
}

// pattern is what the n bytes of a message or write with a number are.
func pattern(number uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(number, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestMessagesComeInOrderAndWhole(t *testing.T) {
	f := ends(t, 3)
	const each = 400
	size := func(i int) int { return rand.New(rand.NewPCG(uint64(i), 2)).IntN(f[0].Limit() + 1) }
	var wg sync.WaitGroup
	for from := range 2 {
		wg.Go(func() {
			for i := range each {
				for !f[from].TrySend(2, packetizer.Header{0, uint64(from), uint64(i)}, pattern(uint64(i), size(i))) {
					f[from].Next() // sends what waits
				}
			}
			for f[from].links[2].pending() {
				f[from].Next()
			}
		})
	}
	var next [2]int
	for next[0]+next[1] < 2*each {
		mark := f[2].Mark()
		h, payload, ok := f[2].Next()
		if !ok {
			f[2].Sleep(mark)
			continue
		}
		from, i := h[1], int(h[2])
		require.Equal(t, next[from], i)
		require.Equal(t, pattern(h[2], size(i)), payload)
		f[2].Release()
		next[from]++
	}
	wg.Wait()
}

// What did not fit is sent by a rank that only looks, with few connections and with many.
func TestWhatWaitsIsSentByALook(t *testing.T) {
	for _, n := range []int{2, fewLinks + 2} {
		f := ends(t, n)
		sent := uint64(0)
		for f[0].TrySend(1, packetizer.Header{0, 0, sent}, pattern(sent, f[0].Limit())) {
			sent++
		}
		require.True(t, f[0].links[1].pending())
		for got, begun := uint64(0), time.Now(); got < sent; {
			require.Less(t, time.Since(begun), time.Minute, "%d of %d messages, %d ranks", got, sent, n)
			f[0].Next()
			if h, payload, ok := f[1].Next(); ok {
				require.Equal(t, got, h[2])
				require.Equal(t, pattern(got, f[0].Limit()), payload)
				f[1].Release()
				got++
			}
		}
		require.False(t, f[0].links[1].pending())
	}
}

// A poll may leave messages behind that have been read already: they have arrived, and however often a rank looks it
// neither loses them nor takes its peer for dead.
func TestWhatAPollLeavesBehindHasArrived(t *testing.T) {
	f := ends(t, 2)
	const n = 2000
	sent := 0
	send := func() {
		for sent < n && f[0].TrySend(1, packetizer.Header{0, 0, uint64(sent)}, pattern(uint64(sent), 40)) {
			sent++
		}
	}
	send()
	for i := range n {
		require.Eventually(t, f[1].arrived, time.Minute, time.Millisecond, "message %d", i)
		for range 5 {
			require.True(t, f[1].arrived())
		}
		h, payload, ok := f[1].Next()
		for ; !ok; h, payload, ok = f[1].Next() { // the rest of it is under way
			send()
		}
		require.Equal(t, uint64(i), h[2])
		require.Equal(t, pattern(h[2], 40), payload)
		f[1].Release()
		require.False(t, f[1].Dead(0))
	}
}

// A rank that ends a connection tells the other end.
func TestWhoGivesAPeerUpTellsIt(t *testing.T) {
	f := ends(t, 2)
	f[0].links[1].broken(closed)
	require.True(t, f[0].Dead(1))
	require.Eventually(t, func() bool {
		f[1].Next()
		return f[1].Dead(0)
	}, time.Minute, time.Millisecond)
}

func TestWritesComeWhole(t *testing.T) {
	f := ends(t, 2)
	gaps, err := datatype.Vector(1<<16, 3, 5, datatype.Byte)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 40 {
		n := r.IntN(3 * pieceMost)
		src, dst := pattern(uint64(i), n), make([]byte, n)
		var slot int
		var w rdmaeng.Window
		var spread []byte
		if i%4 == 3 { // into memory with gaps
			n = gaps.Size()
			src, spread = pattern(uint64(i), n), make([]byte, 5<<16)
			slot, w = f[1].ExposeView(datatype.View{Base: unsafe.Pointer(&spread[0]), Count: 1, Type: gaps})
		} else {
			slot, w = f[1].Expose(dst)
		}
		tr := &rdmaeng.Transfer{To: 1, Src: src, Dst: w, Notify: rdmaeng.Notification{int32(n), int32(i), 1, 0}}
		f[0].Start(tr)
		var note rdmaeng.Notification
		for got, done := false, false; !got || !done; {
			if !done {
				done, err = f[0].Test(tr)
				require.NoError(t, err)
			}
			if !got {
				_, _, ok := f[1].Next()
				require.False(t, ok)
				var which int
				if which, note, got = f[1].Notified(); got {
					require.Equal(t, slot, which)
				}
			}
		}
		require.Equal(t, tr.Notify, note)
		if spread != nil {
			dst = make([]byte, n)
			datatype.View{Base: unsafe.Pointer(&spread[0]), Count: 1, Type: gaps}.Pack(dst, 0)
		}
		require.True(t, bytes.Equal(src, dst), "write %d of %d bytes", i, n)
		f[1].Withdraw(slot)
	}
}

// Who sends writes as fast as a rank reads them does not keep that rank from all else: a look ends meanwhile, says that
// there is more, also to a background that listens.
func TestAStreamOfWritesDoesNotHoldALook(t *testing.T) {
	const looks, a, b = 3, lookMost / 2, lookMost - lookMost/2
	job := host.NewLocalJob(2)
	job.Elsewhere(1)
	m, err := job.JoinLocal(0)
	require.NoError(t, err)
	h := host.NewFabric(m, 0)
	f := &Fabric{Fabric: h, links: make([]*link, 2), poll: &poller{links: -1, watched: -1}}
	dst := make([]byte, looks*lookMost)
	slot, w := h.Expose(dst)
	src := pattern(1, len(dst))
	var in []byte
	add := func(x frame, data []byte) {
		x.size = uint32(len(data))
		in = append(in, make([]byte, headerSize)...)
		x.encode(in[len(in)-headerSize:])
		in = append(in, data...)
	}
	for i := range looks {
		at := i * lookMost
		add(frame{kind: piece, word: packetizer.Header{w.Notify, uint64(at), 0}}, src[at:][:a])
		at += a
		last := packetizer.Header{w.Notify, uint64(at), uint64(i / (looks - 1))}
		add(frame{kind: piece, word: last}, src[at:][:b])
	}
	add(frame{kind: message, word: packetizer.Header{1, 2, 3}}, nil)
	l := &link{f: f, rank: 1, fd: -1, in: append(in, make([]byte, headerSize)...), w: len(in)}
	f.links[1], f.peers = l, []*link{l}
	h.Beside(f.arrived, func() {})
	l.over.Store(true) // all that it has sent has come
	for i := range looks {
		f.ArmBackground()
		mark := f.MarkBackground()
		_, _, ok := f.Next()
		require.False(t, ok)
		require.Equal(t, src[:(i+1)*lookMost], dst[:(i+1)*lookMost])
		require.Equal(t, make([]byte, len(dst)-(i+1)*lookMost), dst[(i+1)*lookMost:])
		require.True(t, f.arrived())
		require.NotEqual(t, mark, f.MarkBackground(), "the background is not rung")
		require.True(t, f.Unread())
	}
	which, _, ok := f.Notified()
	require.True(t, ok)
	require.Equal(t, slot, which)
	word, _, ok := f.Next()
	require.True(t, ok)
	require.Equal(t, packetizer.Header{1, 2, 3}, word)
	f.Release()
	_, _, ok = f.Next()
	require.False(t, ok)
	require.False(t, f.arrived())
	require.False(t, f.Unread())
}

func TestAWriteIntoAWithdrawnBufferTouchesNothing(t *testing.T) {
	f := ends(t, 2)
	dst := make([]byte, 4*pieceMost)
	slot, w := f[1].Expose(dst)
	tr := &rdmaeng.Transfer{To: 1, Src: pattern(1, len(dst)), Dst: w}
	f[0].Start(tr)
	f[1].Next()
	f[1].Withdraw(slot)
	before := sha256.Sum256(dst)
	other := make([]byte, 8)
	f[1].Expose(other)
	for done := false; !done; {
		done, _ = f[0].Test(tr)
		f[1].Next()
	}
	require.True(t, f[0].TrySend(1, packetizer.Header{0, 1, 2}, nil))
	for {
		if h, _, ok := f[1].Next(); ok {
			require.Equal(t, uint64(2), h[2])
			break
		}
	}
	_, _, ok := f[1].Notified()
	require.False(t, ok)
	require.Equal(t, before, sha256.Sum256(dst))
	require.Equal(t, make([]byte, 8), other)
}

func TestTheEndOfAConnectionIsADeath(t *testing.T) {
	f := ends(t, 3)
	f[0].Fail()
	for !f[1].Dead(0) {
		f[1].Sleep(f[1].Mark())
	}
	require.False(t, f[1].Dead(2))
	left := make(chan struct{})
	go func() {
		f[2].Finalize()
		close(left)
	}()
	for !f[1].links[2].gone {
		f[1].Next()
	}
	select {
	case <-left:
		t.Fatal("a rank has left without the good-bye of another")
	case <-time.After(50 * time.Millisecond):
	}
	f[2].links[1].shut()
	for !f[1].links[2].over.Load() {
		f[1].Next()
	}
	<-left
	require.False(t, f[1].Dead(2), "it has said good-bye")
	require.True(t, f[1].TrySend(0, packetizer.Header{}, nil), "a message to a dead rank is taken")
	done, err := f[1].Test(&rdmaeng.Transfer{To: 0})
	require.True(t, done)
	require.ErrorIs(t, err, rdmaeng.ErrPeer)
}

// A launcher that ends this process within the delay is not forestalled.
func TestADeathWaitsForTheLauncher(t *testing.T) {
	f := ends(t, 3)
	f[1].delay, f[2].delay = time.Hour, 10*time.Millisecond
	f[0].Fail()
	for _, me := range f[1:] {
		for !me.links[0].over.Load() {
			me.Next()
		}
	}
	mark := f[2].Mark()
	for !f[2].Dead(0) {
		f[2].Sleep(mark)
		mark = f[2].Mark()
	}
	require.False(t, f[1].Dead(0))
}

func TestWhoIsMissingIsNamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	l, err := Listen("127.0.0.1")
	require.NoError(t, err)
	gone, err := Listen("127.0.0.1")
	require.NoError(t, err)
	gone.Close()
	_, err = (&Peers{l, NewSecret(), [][]byte{l.Card("", 0), nil, gone.Card("", 2)}}).Connect(ctx, 0)
	var e *MeetError
	require.ErrorAs(t, err, &e)
	require.Equal(t, 2, e.Peer)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Regexp(t, `^rank 0 could not connect to rank 2: .*refused \(context deadline exceeded\): see .*NETWORK$`,
		err.Error())
}

func TestRanksThatDisagree(t *testing.T) {
	var cards [][]byte
	var ls []*Listener
	for _, profile := range []string{"ticket", "rtr"} {
		l, err := Listen("127.0.0.1")
		require.NoError(t, err)
		defer l.Close()
		ls, cards = append(ls, l), append(cards, l.Card(profile, 0))
	}
	for i, l := range ls {
		_, err := (&Peers{l, NewSecret(), cards}).Connect(context.Background(), i)
		require.ErrorIs(t, err, host.ErrProfile, "rank %d", i)
	}
}

func TestPlace(t *testing.T) {
	const n = 5
	secret := NewSecret()
	p, err := NewPlace(secret, n, nil)
	require.NoError(t, err)
	defer p.Close()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cards, _, err := Exchange(context.Background(), p.Meet(), i, fmt.Appendf(nil, `{"Addresses":["%d"]}`, i))
			if err != nil || len(cards) != n {
				t.Errorf("rank %d: %v %v", i, cards, err)
				return
			}
			for k, c := range cards {
				if string(c) != fmt.Sprintf(`{"Addresses":["%d"]}`, k) {
					t.Errorf("rank %d: card %d is %s", i, k, c)
				}
			}
		})
	}
	wg.Wait()
	q, err := NewPlace(secret, 2, nil)
	require.NoError(t, err)
	other := &Place{door: door{Listener: q.Listener, gate: gate{NewSecret(), thePlace}}}
	_, _, err = Exchange(context.Background(), other.Meet(), 0, []byte("{}"))
	require.ErrorIs(t, err, errStranger, "it is not the place of another job")
	require.ErrorContains(t, err, "as EXANET_MEET has it")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, _, err = Exchange(ctx, q.Meet(), 0, []byte("{}"))
	require.Error(t, err, "rank 1 does not come")
	q.Close()
	_, _, err = Exchange(context.Background(), q.Meet(), 0, []byte("{}"))
	require.ErrorContains(t, err, "as EXANET_MEET has it, or others have ended: ")
	t.Setenv(env.Network, "lo")
	_, _, err = Exchange(context.Background(), q.Meet(), 0, []byte("{}"))
	require.ErrorContains(t, err, `as EXANET_MEET has it (EXANET_NETWORK="lo": name a network that joins the `+
		`hosts, or none), or others have ended: `)
}

// What is wrong with EXANET_MEET is told with the variable and the form that it has, and without the secret.
func TestMistakesInMeet(t *testing.T) {
	hex := strings.Repeat("7", 2*len(Secret{}))
	for word, says := range map[string]string{
		"":                              "it is not set",
		"nonsense":                      "it has no @",
		hex:                             "it has no @",
		hex + "@":                       `"" is no address`,
		hex + "@127.0.0.1":              `"127.0.0.1" is no address`,
		hex + "@127.0.0.1:http":         `"127.0.0.1:http" is no address`,
		hex + "@127.0.0.1:65536":        `"127.0.0.1:65536" is no address`,
		hex + "@127.0.0.1:0":            `"127.0.0.1:0" is no address`,
		hex + "@127.0.0.1:1,":           `"" is no address`,
		hex[2:] + "@127.0.0.1:1":        "there are 62 characters before the @",
		hex + hex + "@127.0.0.1:1":      "there are 128 characters before the @",
		"x" + hex[1:] + "@127.0.0.1:1":  "what is before the @ has other characters",
		"127.0.0.1:1@" + hex:            "there are 11 characters before the @",
		hex[1:] + "\n" + "@127.0.0.1:1": "what is before the @ has other characters",
	} {
		_, _, err := Exchange(context.Background(), word, 0, nil)
		require.ErrorIs(t, err, ErrMeet, word)
		require.ErrorContains(t, err, "EXANET_MEET is not what ranks meet by: "+says+
			"; want the job's secret, 64 hexadecimal digits, then @, then addresses with commas between, as 10.0.0.5:")
		require.NotContains(t, err.Error(), hex[:20])
	}
}

// FuzzFrames gives a link whatever a peer might send. It may end the link, and must not do worse.
func FuzzFrames(f *testing.F) {
	whole := func(x frame, data []byte) []byte {
		b := make([]byte, headerSize)
		x.size = uint32(len(data))
		x.encode(b)
		return append(b, data...)
	}
	f.Add(whole(frame{kind: message, word: packetizer.Header{1, 2, 3}}, []byte("abc")))
	f.Add(whole(frame{kind: piece, word: packetizer.Header{0, 4, 1}}, []byte("abcdefgh")))
	f.Add(whole(frame{kind: piece, word: packetizer.Header{0, 1 << 63, 1}}, []byte("abcdefgh")))
	f.Add(whole(frame{kind: fetch, word: packetizer.Header{0, 0, 0}}, make([]byte, 8)))
	f.Add(append(whole(frame{kind: bye}, nil), whole(frame{kind: 99}, nil)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		job := host.NewLocalJob(2)
		job.Elsewhere(1)
		m, err := job.JoinLocal(0)
		require.NoError(t, err)
		h := host.NewFabric(m, 0)
		x := &Fabric{Fabric: h, links: make([]*link, 2), poll: &poller{links: -1}}
		l := &link{f: x, rank: 1, fd: -1, in: append(bytes.Clone(data), make([]byte, headerSize)...), w: len(data)}
		x.links[1] = l
		around := make([]byte, 64)
		h.Expose(around[16:48])
		for {
			_, payload, ok := l.next()
			if !ok {
				break
			}
			require.LessOrEqual(t, len(payload), h.Limit())
			l.release()
		}
		require.Equal(t, make([]byte, 16), around[:16])
		require.Equal(t, make([]byte, 16), around[48:])
	})
}
