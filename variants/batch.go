package variants

// Batch is a number of requests that their owner waits for together, as the
// steps of a collective do. The owner counts up Open before it posts one of them,
// Complete counts down.
type Batch struct {
	Open  int // requests posted that are not Done
	Owner any

	awaited *Ready // told when Open falls to 0
	next    *Batch
}

// Await makes the batch, some of whose requests are open, come to r when none
// is any more.
func (b *Batch) Await(r *Ready) { b.awaited = r }

func (b *Batch) ended() {
	if b.Open--; b.Open == 0 && b.awaited != nil {
		r := b.awaited
		b.awaited = nil
		r.Push(b)
	}
}

// Ready is a FIFO of batches whose owners have something to do.
type Ready struct {
	head, tail *Batch
	n          int
}

// Len is the number of batches.
func (r *Ready) Len() int { return r.n }

// Push adds a batch, which is in no FIFO, at the end.
func (r *Ready) Push(b *Batch) {
	b.next = nil
	if r.tail == nil {
		r.head = b
	} else {
		r.tail.next = b
	}
	r.tail = b
	r.n++
}

// Pop removes the oldest batch; there is one.
func (r *Ready) Pop() *Batch {
	b := r.head
	if r.head = b.next; r.head == nil {
		r.tail = nil
	}
	b.next = nil
	r.n--
	return b
}
