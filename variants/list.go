package variants

// List is a FIFO from which any value can be removed. A value is in it through
// a Link that it holds, so being in a list takes no memory of its own, and a
// value with two links can be in two.
type List[T any] struct{ head, tail *Link[T] }

// Link is a value's place in a List.
type Link[T any] struct {
	next, prev *Link[T]
	of         *T
}

// Next returns the value behind this one, nil if there is none.
func (k *Link[T]) Next() *T {
	if k.next == nil {
		return nil
	}
	return k.next.of
}

// First returns the oldest value, nil if there is none.
func (l *List[T]) First() *T {
	if l.head == nil {
		return nil
	}
	return l.head.of
}

// Push adds a value at the end; k is the value's link.
func (l *List[T]) Push(k *Link[T], of *T) {
	k.of, k.next, k.prev = of, nil, l.tail
	if l.tail == nil {
		l.head = k
	} else {
		l.tail.next = k
	}
	l.tail = k
}

// Remove takes out the value that k is the link of.
func (l *List[T]) Remove(k *Link[T]) {
	if k.prev == nil {
		l.head = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		l.tail = k.prev
	} else {
		k.next.prev = k.prev
	}
	k.next, k.prev = nil, nil
}
