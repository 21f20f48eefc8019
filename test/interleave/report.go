package interleave

import (
	"fmt"
	"reflect"
	"strings"
)

func (k kind) String() string {
	return [...]string{
		"load", "store", "update", "fence", "membarrier", "futex wait", "futex wake", "fail", "done", "died",
	}[k]
}

func (o Order) String() string {
	return [...]string{"relaxed", "acquire", "release", "acquire-release", "seq-cst"}[o]
}

func (f rmw) String() string { return [...]string{"swap", "add", "and", "or", "compare-and-swap"}[f] }

// report is a violation and the steps that lead to it, a column for each rank.
func (m *search) report(first *state, id int32, what string) string {
	var path []int32
	for at := id; m.parents[at].from >= 0; at = m.parents[at].from {
		path = append(path, m.parents[at].step)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", what)
	s := first
	for i := len(path) - 1; i >= 0; i-- {
		left := path[i]
		var taken step
		m.steps(s, func(st step) bool {
			if left == 0 {
				taken = st
			}
			left--
			return left >= 0
		})
		column := strings.Repeat("        ", taken.rank)
		fmt.Fprintf(&b, "  %3d  rank %d  %s%s\n", len(path)-i, taken.rank, column, m.describe(s, taken))
		s = taken.to
	}
	for r, n := range s.at {
		switch {
		case s.asleep[r]:
			fmt.Fprintf(&b, "       rank %d sleeps in %s\n", r, n.function)
		case n.op.kind == done:
			fmt.Fprintf(&b, "       rank %d is done: %v\n", r, n.result)
		case n.op.kind < fail:
			fmt.Fprintf(&b, "       rank %d is in %s: %s\n", r, n.function, m.text(&n.op))
		}
	}
	return b.String()
}

func (m *search) describe(s *state, st step) string {
	n := s.at[st.rank]
	switch st.what {
	case commit:
		e := s.buffer[st.rank][st.i]
		w := m.words[e.word]
		return fmt.Sprintf("(%s becomes visible)", m.ranks.mem.value(w, e.mask, e.val))
	case interrupt:
		return fmt.Sprintf("membarrier: rank %d has fenced", st.i)
	case die:
		return "dies"
	}
	text := m.text(&n.op)
	switch n.op.kind {
	case load, update:
		text += fmt.Sprintf(" -> %#x", st.got)
		if st.i > 0 {
			text += " (read early)"
		}
	case futexWait:
		if st.to.asleep[st.rank] {
			text += ": sleeps"
		} else {
			text += ": returns"
		}
	case futexWake:
		if st.i > 0 {
			text += fmt.Sprintf(": wakes %b", st.i)
		}
	}
	return text + "  " + n.function
}

func (m *search) text(o *op) string {
	mem := m.ranks.mem
	switch o.kind {
	case fence:
		return fmt.Sprintf("fence %v", o.order)
	case membarrier, fail, done, died:
		return o.kind.String()
	}
	how := o.order.String()
	if o.plain {
		how = "plain"
	}
	w := mem.name(m.words[o.word], o.shift)
	switch o.kind {
	case store:
		return fmt.Sprintf("store %s = %#x, %s", w, o.val>>o.shift, how)
	case update:
		if o.fn == cas {
			return fmt.Sprintf("%v %s %#x to %#x, %s", o.fn, w, o.cmp>>o.shift, o.val>>o.shift, how)
		}
		return fmt.Sprintf("%v %s %#x, %s", o.fn, w, o.val>>o.shift, how)
	case futexWait, futexWake:
		return fmt.Sprintf("%v %s %d", o.kind, w, o.val)
	}
	return fmt.Sprintf("%v %s, %s", o.kind, w, how)
}

func (m *Memory) value(word int32, mask, val uint64) string {
	shift := uint8(0)
	for mask>>shift&1 == 0 {
		shift++
	}
	return fmt.Sprintf("%s = %#x", m.name(word, shift), val>>shift)
}

// name is what a word is called.
func (m *Memory) name(word int32, shift uint8) string {
	for i := range m.regions {
		r := &m.regions[i]
		if off := uintptr(int(word)-r.first)*8 + uintptr(shift/8); int(word) >= r.first && off < r.size {
			if r.typ == nil {
				return fmt.Sprintf("%s+%d", r.name, off)
			}
			return r.name + field(r.typ, off)
		}
	}
	return ""
}

func field(t reflect.Type, off uintptr) string {
	switch t.Kind() {
	case reflect.Struct:
		if strings.HasPrefix(t.PkgPath(), "sync/") {
			return ""
		}
		for i := t.NumField() - 1; i >= 0; i-- {
			if f := t.Field(i); off >= f.Offset && off < f.Offset+f.Type.Size() {
				return "." + f.Name + field(f.Type, off-f.Offset)
			}
		}
	case reflect.Array:
		size := t.Elem().Size()
		return fmt.Sprintf("[%d]%s", off/size, field(t.Elem(), off%size))
	}
	return ""
}
