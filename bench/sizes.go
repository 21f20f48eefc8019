package bench

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSizes is the error of a list of sizes that cannot be read.
var ErrSizes = errors.New("unusable sizes")

// largestSize bounds what ParseSizes accepts: two buffers of it are allocated
// on each side.
const largestSize = 1 << 30

// ParseSizes reads message sizes in bytes: "FROM:TO" is FROM and its doubles
// up to TO (0 is followed by 1), and "A,B,C" is those sizes in that order. The
// error wraps ErrSizes.
func ParseSizes(s string) ([]int, error) {
	if from, to, ok := strings.Cut(s, ":"); ok {
		lo, err := parseSize(s, from)
		if err != nil {
			return nil, err
		}
		hi, err := parseSize(s, to)
		if err != nil {
			return nil, err
		}
		if lo > hi {
			return nil, fmt.Errorf("%w: %q: the first size is larger than the last", ErrSizes, s)
		}
		var sizes []int
		for n := lo; n <= hi; n = max(2*n, 1) {
			sizes = append(sizes, n)
		}
		return sizes, nil
	}
	var sizes []int
	for part := range strings.SplitSeq(s, ",") {
		n, err := parseSize(s, part)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func parseSize(whole, part string) (int, error) {
	n, err := strconv.Atoi(part)
	if err != nil || n < 0 || n > largestSize || part[0] == '+' || part[0] == '-' {
		return 0, fmt.Errorf("%w: %q: write FROM:TO or A,B,C with numbers of bytes from 0 to %d", ErrSizes, whole,
			largestSize)
	}
	return n, nil
}
