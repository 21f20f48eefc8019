package mem

// Go's copy goes past the caches from streamed bytes on (amd64), which is right for what
// does not fit into them, and halves the speed of what does.
const (
	streamed = 1 << 20
	cached   = 4 << 20 // what caches are taken to hold of a copy, both ends
	inPieces = streamed / 2
)

// Copy is copy, for data of any length, which keeps them in the caches if they are
// likely to fit: whoever waits for them will read them soon.
func Copy(dst, src []byte) (n int) {
	n = min(len(dst), len(src))
	if left := n; n >= streamed && n <= cached {
		for ; left > inPieces; left -= inPieces {
			copy(dst[:inPieces], src)
			dst, src = dst[inPieces:], src[inPieces:]
		}
	}
	copy(dst, src)
	return n
}
