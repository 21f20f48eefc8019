package coll

// Kind is what a step does.
type Kind uint8

// The kinds of steps.
const (
	Send    Kind = iota // begin to send From to Peer
	Recv                // begin to receive exactly len(To) bytes from Peer into To
	Wait                // until all sends and receives begun so far have ended
	Combine             // To = From op To, where From is of lower ranks
	Copy                // From to To
)

// Step is a part of a schedule.
type Step struct {
	Kind     Kind
	Peer     int32
	From, To []byte
}

// Schedule is what one rank does for one call. After Release it can be used for
// another; its memory is kept, so that calls like earlier ones allocate nothing.
// At the end there is an implicit Wait.
//
// The steps refer to the buffers of the call and to scratch memory of the
// schedule.
type Schedule struct {
	Call
	Steps []Step

	chunks [][]byte // scratch memory, in use up to chunk at, byte used
	at     int
	used   int
	ints   []int  // offsets of blocks
	staged []byte // see stage

	leaders []int // see lead
}

// Build makes the schedule of the call that is in s by an algorithm, see
// Selection.Pick.
func (s *Schedule) Build(a *Algorithm) {
	s.Steps = s.Steps[:0]
	a.build(s)
}

// Release drops all references to the buffers of the call. The scratch memory
// stays, for the next one.
func (s *Schedule) Release() {
	clear(s.Steps)
	s.Steps = s.Steps[:0]
	s.Call, s.staged = Call{}, nil
	s.at, s.used = 0, 0
}

// Scratch is the scratch memory that the schedule holds on to, in bytes.
func (s *Schedule) Scratch() (n int) {
	for _, c := range s.chunks {
		n += len(c)
	}
	return n
}

const (
	scratchAlign = 64
	scratchLeast = 4096
)

// Temp returns n bytes of scratch memory that suit elements of any type, until
// Release.
func (s *Schedule) Temp(n int) []byte {
	for ; s.at < len(s.chunks); s.at, s.used = s.at+1, 0 {
		if c := s.chunks[s.at]; s.used+n <= len(c) {
			break
		}
	}
	if s.at == len(s.chunks) {
		s.chunks = append(s.chunks, make([]byte, max(n, scratchLeast)))
	}
	b := s.chunks[s.at][s.used : s.used+n : s.used+n]
	s.used += (n + scratchAlign - 1) &^ (scratchAlign - 1)
	return b
}

func (s *Schedule) add(st Step) { s.Steps = append(s.Steps, st) }

func (s *Schedule) send(peer int, b []byte) { s.add(Step{Kind: Send, Peer: int32(peer), From: b}) }
func (s *Schedule) recv(peer int, b []byte) { s.add(Step{Kind: Recv, Peer: int32(peer), To: b}) }
func (s *Schedule) wait()                   { s.add(Step{Kind: Wait}) }

// combine is to = from op to.
func (s *Schedule) combine(from, to []byte) {
	if len(to) > 0 {
		s.add(Step{Kind: Combine, From: from, To: to})
	}
}

func (s *Schedule) copy(to, from []byte) {
	if len(to) > 0 {
		s.add(Step{Kind: Copy, From: from, To: to})
	}
}

// copyIn is copy, unless the call is in place: then it is there already.
func (s *Schedule) copyIn(to, from []byte) {
	if !s.InPlace {
		s.copy(to, from)
	}
}

// up and down are the ranks d above and below the caller, around the end.
func (s *Schedule) up(d int) int   { return (s.Rank + d) % s.Ranks }
func (s *Schedule) down(d int) int { return (s.Rank - d + s.Ranks) % s.Ranks }

func (s *Schedule) sendBlock(i int) []byte { return s.SendBlocks.Of(s.Send, i) }
func (s *Schedule) recvBlock(i int) []byte { return s.RecvBlocks.Of(s.Recv, i) }

// offsets returns where the blocks begin if they are put one behind the other;
// entry Ranks is where they end.
func (s *Schedule) offsets(b *Blocks) []int {
	s.ints = s.ints[:0]
	off := 0
	for i := range s.Ranks {
		s.ints = append(s.ints, off)
		off += b.Size(i)
	}
	s.ints = append(s.ints, off)
	return s.ints
}
