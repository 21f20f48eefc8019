package host

// stages are buffers of a rank into which others write data whose places are too
// many, see direct.go. They hold no more than stagedMost bytes at a time, so that a
// program which posts many receives does not need its memory twice: the rest goes
// through the ring.
type stages struct {
	inUse int // bytes
	spare [][]byte
}

const (
	stagedMost  = 32 << 20 // bytes in use
	stagesSpare = 4        // buffers kept for reuse
	spareMost   = 4 << 20  // bytes of each
)

// take returns a buffer of n bytes, nil if the data are better sent through the
// ring.
func (p *stages) take(n int) []byte {
	if n <= directLeast || p.inUse+n > stagedMost {
		return nil
	}
	p.inUse += n
	for i, b := range p.spare {
		if cap(b) >= n {
			last := len(p.spare) - 1
			p.spare[i], p.spare[last] = p.spare[last], nil
			p.spare = p.spare[:last]
			return b[:n]
		}
	}
	return make([]byte, n)
}

// giveBack takes a buffer, or nil, that nobody writes to any more.
func (p *stages) giveBack(b []byte) {
	p.inUse -= len(b)
	if b != nil && len(p.spare) < stagesSpare && cap(b) <= spareMost {
		p.spare = append(p.spare, b)
	}
}
