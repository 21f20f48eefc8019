package floor

import "time"

// Memory that the cold copies go through, on each side. It is more than the
// last-level cache that one process can use on common machines.
const coldBytes = 128 << 20

// Copy returns the speed, in units of 10^6 bytes a second, of memcpy in pieces
// of size bytes on one core: always the same piece, or, cold, the pieces of
// 128 MiB in turn, which are in no cache when their turn comes.
func (p *Pair) Copy(size int, cold bool) (float64, error) {
	if err := pin(p.cores[0]); err != nil {
		return 0, err
	}
	area, passes := size, 512<<20/size
	if cold {
		area, passes = coldBytes, 1
	}
	if p.src == nil && cold {
		p.src, p.dst = touched(coldBytes), touched(coldBytes)
	}
	src, dst := p.src, p.dst
	if !cold {
		src, dst = touched(size), touched(size)
		copy(dst, src)
	}
	start := time.Now()
	for range passes {
		for at := 0; at < area; at += size {
			copy(dst[at:at+size], src[at:at+size])
		}
	}
	elapsed := time.Since(start)
	return float64(passes) * float64(area) / 1e6 / elapsed.Seconds(), nil
}
