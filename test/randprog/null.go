package randprog

// nulls is the number of operations that null knows.
const nulls = 6

// null runs an operation whose peer is the null process. It completes at once,
// whatever its mode, and a receive or probe has the Status that MPI prescribes.
func (t *thread) null(o *Op) {
	region := t.arena.region(16, 0)
	buf, none := inner(region), Status{Source: ProcNull, Tag: AnyTag}
	st, err := none, error(nil)
	var req Request
	switch o.Tag {
	case 0:
		err = t.w.Send(Mode(o.ID%int(modes)), buf, ProcNull, 7)
	case 1:
		st, err = t.w.Recv(buf, ProcNull, 7)
	case 2:
		if req, err = t.w.Isend(Mode(o.ID%int(modes)), buf, ProcNull, 7); err == nil {
			_, err = req.Wait()
		}
	case 3:
		if req, err = t.w.Irecv(buf, ProcNull, AnyTag); err == nil {
			st, err = req.Wait()
		}
	case 4:
		st, err = t.w.Sendrecv(buf, ProcNull, 7, buf, ProcNull, AnyTag)
	case 5:
		st, err = t.w.Probe(ProcNull, 7)
	}
	t.note(o.ID, event{what: returned, st: st, has: true, err: err})
	if err != nil || st != none || !allGuard(region) {
		t.problem("#%d %s: status %v, error %v", o.ID, t.p.describe(o), st, err)
	}
}
