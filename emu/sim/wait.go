package sim

import "time"

// How a rank waits. It polls, as on the prototype; since what a poll finds is known,
// it is resumed when there is something to find.

// spinBudget is how long a rank waits before it reminds its peers of what it waits for,
// and they look at their mailboxes even if they compute.
const spinBudget = 30 * 1000 * nanosecond

// soonest is when the next of what has arrived, or is known to arrive, can be seen.
func (e *Endpoint) soonest() Time {
	at := never
	if e.first != none {
		at = e.s.messages[e.first].arrives
	}
	if len(e.notes) > 0 {
		at = min(at, e.notes[0].at)
	}
	for _, t := range e.ends {
		at = min(at, t)
	}
	return at
}

// found reports whether a poll may find something now.
func (e *Endpoint) found(mark uint32) bool {
	return e.bell != mark || e.s.deaths != e.deathsSeen || e.soonest() <= e.clock
}

// ready tells the rank, if it waits, that something can be seen from a time on.
func (e *Endpoint) ready(at Time) {
	if e.waiting {
		e.main.goOn(max(at, e.since))
	} else if e.armed {
		e.lookAt(max(at, e.s.now))
	}
}

// Mark is what a wait begins with. Package mpi asks for it, as for the methods that follow.
func (e *Endpoint) Mark() uint32 {
	e.charge()
	e.willing = true
	return e.bell
}

// Poll looks whether something has arrived.
func (e *Endpoint) Poll(mark uint32) bool {
	e.charge()
	e.catchUp()
	return e.found(mark)
}

// Spin waits for as long as the budget allows.
func (e *Endpoint) Spin(mark uint32) bool {
	e.charge()
	e.deadline = e.clock + spinBudget
	e.wait(mark)
	e.deadline = never
	return e.found(mark)
}

// Sleep waits as long as it takes.
func (e *Endpoint) Sleep(mark uint32) { e.wait(mark) }

func (e *Endpoint) wait(mark uint32) {
	e.charge()
	if e.found(mark) {
		e.willing = false
		e.again++
		return
	}
	e.willing = false
	if e.current != &e.main {
		panic("sim: a rank's background routine does not wait")
	}
	e.waiting, e.since = true, e.clock
	if at := e.soonest(); at != never {
		e.main.goOn(at)
	}
	e.time(min(e.deadline, e.alarm))
	e.main.park()
	e.waiting = false
	e.again++
	e.spend(e.s.model.wake)
}

// time has the timer go off at a time, or before.
func (e *Endpoint) time(at Time) {
	if at < e.timerAt {
		e.timerAt = at
		e.s.agenda.push(at, timer, int32(e.rank), 0)
	}
}

// timeOut is called when the timer goes off: for a wait that may be over.
func (e *Endpoint) timeOut(at Time) {
	if at != e.timerAt {
		return
	}
	e.timerAt = never
	due := min(e.deadline, e.alarm)
	if !e.waiting || due == never {
		return
	}
	if due > at {
		e.time(due)
		return
	}
	if e.alarm <= at {
		e.alarm = never
		e.bell++
	}
	e.main.goOn(max(at, e.since))
}

// Alarm rings the foreground bell after d, unless the alarm is stopped before.
func (e *Endpoint) Alarm(d time.Duration) (stop func() bool) {
	e.charge()
	e.alarm = e.clock + fromDuration(d)
	return e.stopAlarm
}

func (e *Endpoint) stopAlarm() bool {
	on := e.alarm != never
	e.alarm = never
	return on
}

// Now is the rank's clock.
func (e *Endpoint) Now() time.Duration {
	e.charge()
	return e.clock.Duration()
}

// Compute keeps the processor busy for d. If the background routine has no core of
// its own it takes longer.
func (e *Endpoint) Compute(d time.Duration) {
	e.charge()
	if d <= 0 {
		return
	}
	e.computed += fromDuration(d)
	left := fromDuration(d)
	e.stolen, e.vain = 0, 0
	for left > 0 {
		e.pass(left)
		left, e.stolen = e.stolen, 0
	}
}

// pass lets time pass in which only the background routine makes calls.
func (e *Endpoint) pass(t Time) {
	at := e.clock + t
	if e.s.agenda.next() > at {
		e.clock = at
		return
	}
	e.main.goOn(at)
	e.main.park()
}

// Yield is called by a program that has found nothing and will look again. If it goes
// on like that, nothing but an arrival changes what it does, so longer and longer times
// pass until then at once.
func (e *Endpoint) Yield() {
	e.charge()
	if e.current != &e.main {
		e.again++
		return
	}
	if e.found(e.bell) {
		e.again++
		e.vain = 0
		e.pass(nanosecond)
		return
	}
	e.vain = min(max(2*e.vain, shortest), spinBudget)
	e.deadline = e.clock + e.vain
	e.wait(e.bell)
	e.deadline = never
}

// shortest is the time that passes at the first of such calls.
const shortest = 100 * nanosecond

// WakeForeground rings the foreground bell.
func (e *Endpoint) WakeForeground() {
	e.bell++
	e.ready(e.clock)
}

// refilled is called when a mailbox has room again for what this rank wants to send.
func (e *Endpoint) refilled() {
	e.bell++
	e.backBell++
	e.ready(e.s.now)
	e.lookAt(e.s.now)
}

// ArmBackground asks for the background bell to be rung at the next arrival.
func (e *Endpoint) ArmBackground() (arrived bool) {
	e.charge()
	e.catchUp()
	e.armed = true
	if e.found(e.bell) {
		return true
	}
	if at := e.soonest(); at != never {
		e.lookAt(at)
	}
	return false
}

// DisarmBackground ends ArmBackground.
func (e *Endpoint) DisarmBackground() { e.armed = false }

// Background has loop run as the rank's background routine, whose first act is
// WaitBackground, and returns what waits for its end.
func (e *Endpoint) Background(loop func()) (join func()) {
	e.back.body = loop
	return func() {
		if e.back.next == nil || e.back.over || e.s.aborted {
			return // it has never run
		}
		e.joining = true
		e.main.park()
	}
}

// MarkBackground returns the state of the background bell.
func (e *Endpoint) MarkBackground() uint32 { return e.backBell }

// WaitBackground waits until the background bell has been rung since the mark.
func (e *Endpoint) WaitBackground(mark uint32) {
	e.charge()
	if e.backBell == mark {
		e.backMark, e.idle = mark, true
		e.back.park()
		e.idle = false
	}
	e.again++
}

// WakeBackground rings the background bell of a rank. The word takes as long as the
// shortest message, also from the background routine to itself, which waits for what
// only time can bring then. On the prototype, where every rank has a thread that polls,
// it would not be needed.
func (e *Endpoint) WakeBackground(rank int) {
	e.charge()
	if rank != e.rank || e.current == &e.back {
		e.s.agenda.push(e.clock+e.s.lookahead, ring, int32(rank), 0)
		return
	}
	e.backBell++
	e.armed = false
	e.lookAt(e.clock)
}

// rung is called when another rank has rung the background bell, and reports whether
// the background routine is to run.
func (e *Endpoint) rung() bool {
	e.backBell++
	e.armed = false
	return e.progress(-1)
}

// lookAt announces a look at whether the background routine has something to do.
func (e *Endpoint) lookAt(at Time) {
	if at < e.lookAtTime {
		e.lookAtTime = at
		e.s.agenda.push(at, progress, int32(e.rank), 0)
	}
}

// progress is that look. It reports whether the background routine is to run now.
func (e *Endpoint) progress(at Time) bool {
	if at == e.lookAtTime {
		e.lookAtTime = never
	}
	now := e.s.now
	switch {
	case e.main.over || e.back.over || !e.idle || e.back.body == nil:
		return false
	case e.main.holding:
		e.due = true
		return false
	case e.backBell == e.backMark && !e.armed:
		return false
	case e.backBell == e.backMark && e.soonest() > now:
		if at := e.soonest(); at != never {
			e.lookAt(at)
		}
		return false
	}
	e.armed = false
	e.backBell++
	return e.back.enter(now)
}
