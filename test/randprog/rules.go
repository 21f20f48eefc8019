package randprog

// Rules restrict programs to what a protocol allows. The zero value restricts
// nothing.
type Rules struct {
	// Eager, if not 0, keeps programs to the assumptions of the protocol
	// optimistic (thesis 3.14): there is no AnySource and no probe, and a message
	// of up to Eager bytes meets a buffer of up to Eager bytes, a longer one a
	// longer one. It is the device's limit of eager messages.
	Eager int

	// Counted, in addition, keeps away what makes it impossible to say by
	// counting which send belongs to which receive: AnyTag, and cancelling. No
	// receive of a program as generated is left without a message.
	Counted bool
}

// paired reports whether the length of a message must fit its buffer's.
func (r Rules) paired() bool { return r.Eager > 0 }

// long reports whether a message or buffer of size bytes is not eager.
func (r Rules) long(size int) bool { return size > r.Eager }

// end is one end of a message: a send or a receive, or half of a Sendrecv.
// from is a rank, to a thread, and tag may be AnyTag.
type end struct {
	op             *Op
	from, to, tag  int
	size           int
	loose, receive bool
}

func (l *ledger) sendEnd(o *Op) end {
	return end{op: o, from: l.p.Threads[o.Thread].Rank, to: o.Dest, tag: o.Tag, size: o.Size, loose: o.Cancelable}
}

func (l *ledger) recvEnd(o *Op) end {
	return end{op: o, from: o.From, to: o.Thread, tag: o.RTag, size: o.Cap, loose: o.Cancelable, receive: true}
}

// lengths says whether an end must be long and whether it must be short, by the
// operations so far: neither, one, or, if there is no place for it, both. Its
// own size does not matter.
//
// Without AnyTag and without cancelling the nth send of a channel, which is a
// source, a destination and a tag, belongs to its nth receive, and these two
// must agree. Where a request may be cancelled all of the channel are of one kind,
// and where a receive takes any tag all from that rank to that thread are.
func (l *ledger) lengths(e end) (long, short bool) {
	var ends []end // from the same rank to the same thread
	for _, s := range l.sends {
		if x := l.sendEnd(s); x.from == e.from && x.to == e.to {
			ends = append(ends, x)
		}
	}
	for _, r := range l.recvs {
		if x := l.recvEnd(r); x.from == e.from && x.to == e.to {
			ends = append(ends, x)
		}
	}
	anyTag, loose := e.tag == AnyTag, e.loose
	for _, x := range ends {
		anyTag = anyTag || x.tag == AnyTag
		loose = loose || x.loose && x.tag == e.tag
	}
	itself := func(x end) bool { return x.op == e.op && x.receive == e.receive }
	before := 0 // ends of the same channel and side
	for _, x := range ends {
		if itself(x) {
			break
		}
		if x.tag == e.tag && x.receive == e.receive {
			before++
		}
	}
	opposite := 0
	for _, x := range ends {
		counts := x.tag == e.tag && x.receive != e.receive
		if !itself(x) && (anyTag || loose && x.tag == e.tag || counts && opposite == before) {
			long = long || l.p.Rules.long(x.size)
			short = short || !l.p.Rules.long(x.size)
		}
		if counts {
			opposite++
		}
	}
	return long, short
}

// paired reports whether the ends of o keep the rules, given all that the
// ledger holds.
func (l *ledger) paired(o *Op) bool {
	rules := l.p.Rules
	if !rules.paired() {
		return true
	}
	if rules.Counted && (o.Cancelable || o.receives() && o.RTag == AnyTag) {
		return false
	}
	fits := func(e end) bool {
		long, short := l.lengths(e)
		if rules.long(e.size) {
			return !short
		}
		return !long
	}
	switch {
	case o.probes() || o.Kind == Iprobe || o.receives() && o.From == AnySource:
		return false
	case o.sends() && !fits(l.sendEnd(o)):
		return false
	}
	return !o.receives() || fits(l.recvEnd(o))
}
