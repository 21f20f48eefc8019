package checking

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Card is what a rank tells others of a call of its own.
type Card struct {
	Call string // its name
	Site string // where it is in the program, if that is known
	Data string // in words
	Sequence
	Bytes int // of a block of a collective, as all ranks have it; -1: it has none
	Root  int // -1: it has none
	Op    string
}

// CardSize is the bytes of a card in a message. Texts that do not fit are cut.
const CardSize = 192

const fixed = 8 * 4

// Write writes a card at the beginning of b.
func (c *Card) Write(b []byte) {
	clear(b[:CardSize])
	flag := uint64(0)
	if c.Any {
		flag = 1
	}
	for i, v := range []uint64{c.Sum, uint64(c.N)<<1 | flag, uint64(c.Bytes), uint64(c.Root)} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	site := c.Site
	if most := 80; len(site) > most {
		site = "..." + site[len(site)-most+3:]
	}
	at := fixed
	for _, text := range []string{c.Call, c.Data, c.Op, site} {
		room := max(0, min(len(text), CardSize-1-at))
		at += copy(b[at:], text[:room])
		at = min(at+1, CardSize-1)
	}
}

// ReadCard reads what Write has written.
func ReadCard(b []byte) (c Card) {
	var v [4]uint64
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	c.Sum, c.N, c.Any, c.Bytes, c.Root = v[0], int(v[1]>>1), v[1]&1 == 1, int(v[2]), int(v[3])
	texts := strings.SplitN(string(b[fixed:CardSize]), "\x00", 5)
	for i, p := range []*string{&c.Call, &c.Data, &c.Op, &c.Site} {
		if i < len(texts) {
			*p = texts[i]
		}
	}
	return c
}

// At says where a call is, in parentheses, if it is known.
func At(site string) string {
	if site == "" {
		return ""
	}
	return " (" + site + ")"
}

// String describes a call of a collective.
func (c *Card) String() string {
	var b strings.Builder
	b.WriteString(c.Call)
	if c.Op != "" {
		b.WriteString(" " + c.Op)
	}
	if c.Data != "" {
		b.WriteString(" of " + c.Data)
	}
	if c.Root >= 0 {
		fmt.Fprintf(&b, ", root %d", c.Root)
	}
	return b.String() + At(c.Site)
}

// differ says in what two calls of a collective differ, "" if they match.
func differ(a, b *Card) string {
	switch {
	case a.Call != b.Call:
		return "different calls"
	case a.Root != b.Root:
		return "different roots"
	case a.Op != b.Op:
		return "different operators"
	case a.Bytes != b.Bytes:
		return "different counts"
	case !a.Matches(b.Sequence):
		return "different types"
	}
	return ""
}

// Compare says in what the calls of ranks differ, and who makes which, "" if all match. They are in
// the order of the ranks.
func Compare(cards []Card) string {
	what := ""
	groups := [][]int{{0}}
next:
	for i := 1; i < len(cards); i++ {
		for g := range groups {
			d := differ(&cards[groups[g][0]], &cards[i])
			if d == "" {
				groups[g] = append(groups[g], i)
				continue next
			}
			if what == "" {
				what = d
			}
		}
		groups = append(groups, []int{i})
	}
	if what == "" {
		return ""
	}
	var parts []string
	for _, g := range groups {
		parts = append(parts, fmt.Sprintf("%s: %v", Ranks(g), &cards[g[0]]))
	}
	return what + ": " + strings.Join(parts, "; ")
}

// Ranks names some ranks, which are in ascending order.
func Ranks(list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("rank %d", list[0])
	}
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		text := fmt.Sprint(list[i])
		if j > i {
			text = fmt.Sprintf("%d-%d", list[i], list[j])
		}
		parts = append(parts, text)
		i = j + 1
	}
	return "ranks " + strings.Join(parts, ", ")
}
