package randc

import (
	"fmt"
	"strings"
)

// odd writes calls that no message answers: errors, MPI_PROC_NULL, cancelled
// receives, empty statuses.
func (g *generator) odd() {
	c := g.comm(1)
	for _, r := range c.members {
		for range 1 + g.IntN(4) {
			g.oddCall(r, c)
		}
	}
}

func (g *generator) oddCall(r int, c *comm) {
	id := g.id()
	name, n := cname(c.id), len(c.members)
	empty := "{ int n, k; MPI_Get_count(&s, MPI_INT, &n); MPI_Test_cancelled(&s, &k); say(\"empty %d %d %d %d\\n\", " +
		"s.MPI_SOURCE == MPI_ANY_SOURCE ? -100 : s.MPI_SOURCE == MPI_PROC_NULL ? -200 : s.MPI_SOURCE, s.MPI_TAG == " +
		"MPI_ANY_TAG ? -100 : s.MPI_TAG, n, k); }"
	switch g.IntN(6) {
	case 0, 1:
		g.emit(r, "{ int v = 1;")
		g.emit(r, pick(g,
			"E(MPI_Send(&v, 1, MPI_INT, %[2]d, 3, %[1]s));",
			"E(MPI_Send(&v, 1, MPI_INT, -70, 3, %[1]s));",
			"E(MPI_Isend(&v, 1, MPI_INT, 0, -70, %[1]s, &x[%[3]d].r));",
			"E(MPI_Ssend(&v, -1, MPI_INT, 0, 3, %[1]s));",
			"E(MPI_Send(&v, 1, MPI_DATATYPE_NULL, 0, 3, %[1]s));",
			"E(MPI_Recv(&v, 1, MPI_INT, %[2]d, 3, %[1]s, MPI_STATUS_IGNORE));",
			"E(MPI_Irecv(&v, -3, MPI_INT, 0, 3, %[1]s, &x[%[3]d].r));",
			"E(MPI_Recv_init(&v, 1, MPI_INT, 0, -70, %[1]s, &x[%[3]d].r));",
			"E(MPI_Bcast(&v, 1, MPI_INT, %[2]d, %[1]s));",
			"E(MPI_Bcast(&v, 1, MPI_INT, -1, %[1]s));",
			"E(MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_OP_NULL, %[1]s));",
			"E(MPI_Send(&v, 1, MPI_INT, 0, 3, MPI_COMM_NULL)); (void)%[1]s;",
			"{ MPI_Status s; E(MPI_Probe(%[2]d, 3, %[1]s, &s)); }",
		), name, n+g.IntN(3), id)
		g.emit(r, "}")
	case 2: // but Irecv, of which MPICH 4.0.2 says source 0 and tag 0
		g.emit(r, "{ int v = 1, flag; MPI_Status s; (void)flag;")
		g.emit(r, pick(g,
			"E(MPI_Recv(&v, 1, MPI_INT, MPI_PROC_NULL, 3, %[1]s, &s));",
			"E(MPI_Send(&v, 1, MPI_INT, MPI_PROC_NULL, 3, %[1]s)); MPI_Request q = MPI_REQUEST_NULL; E(MPI_Wait(&q, "+
				"&s));",
			"E(MPI_Probe(MPI_PROC_NULL, 3, %[1]s, &s));",
			"E(MPI_Iprobe(MPI_PROC_NULL, 3, %[1]s, &flag, &s)); say(\"%%d\\n\", flag);",
			"E(MPI_Sendrecv(&v, 1, MPI_INT, MPI_PROC_NULL, 3, &v, 1, MPI_INT, MPI_PROC_NULL, 4, %[1]s, &s));",
			"E(MPI_Sendrecv_replace(&v, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_PROC_NULL, 4, %[1]s, &s));",
			"MPI_Message m; E(MPI_Mprobe(MPI_PROC_NULL, 3, %[1]s, &m, &s)); say(\"%%d\\n\", m == "+
				"MPI_MESSAGE_NO_PROC); E(MPI_Mrecv(&v, 1, MPI_INT, &m, &s));",
		), name)
		g.emit(r, "%s }", empty)
	case 3:
		g.emit(r, "buffer(%d, IN, 10, MPI_INT, %d);", id, g.IntN(1<<30))
		from := pick(g, "0", "MPI_ANY_SOURCE")
		persistent := g.oneIn(3)
		if persistent {
			g.emit(r, "E(MPI_Recv_init(x[%d].base, 10, MPI_INT, %s, %d, %s, &x[%d].r)); E(MPI_Start(&x[%d].r));", id,
				from, g.tag(), name, id, id)
		} else {
			g.emit(r, "E(MPI_Irecv(x[%d].base, 10, MPI_INT, %s, %d, %s, &x[%d].r));", id, from, g.tag(), name, id)
		}
		g.emit(r, "E(MPI_Cancel(&x[%d].r));", id)
		q := request{ids: []int{id}, say: fmt.Sprintf("settled(%d);", id)}
		if persistent {
			q.after = fmt.Sprintf("E(MPI_Request_free(&x[%d].r));", id)
		}
		g.later(r, q)
	default:
		g.emit(r, "{ MPI_Request q = MPI_REQUEST_NULL, none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}; MPI_Status s, "+
			"both[2]; int flag = 7, at = 7; (void)none, (void)both;")
		call := pick(g,
			"E(MPI_Wait(&q, &s));",
			"E(MPI_Test(&q, &flag, &s));",
			"E(MPI_Waitany(2, none, &at, &s));",
			"E(MPI_Testany(2, none, &at, &flag, &s));",
			"E(MPI_Waitall(2, none, both)); s = both[1];",
			"E(MPI_Testall(2, none, &flag, both)); s = both[0];",
			"E(MPI_Waitsome(2, none, &at, &flag, both)); E(MPI_Wait(&q, &s));",
			"E(MPI_Testsome(2, none, &at, &flag, both)); E(MPI_Wait(&q, &s));",
			"E(MPI_Request_get_status(q, &flag, &s));",
		)
		// MPICH 4.0.2 leaves the status of Testany as it is.
		if g.oneIn(2) && !strings.Contains(call, "Testany") {
			g.emit(r, "E(MPI_Recv_init(0, 0, MPI_INT, 0, 9, %s, &q)); none[1] = q;", name)
		}
		g.emit(r, "%s", call)
		g.emit(r, "say(\"%%d %%d\\n\", flag, at == MPI_UNDEFINED); if (q != MPI_REQUEST_NULL) "+
			"E(MPI_Request_free(&q)); %s }", empty)
	}
}

// threads writes two or three threads at each rank, each with a communicator of its
// own.
func (g *generator) threads() {
	comms := make([]*comm, 2+g.IntN(2))
	for i := range comms {
		comms[i] = g.dup(g.comms[0])
	}
	main, pending := g.out, g.pending
	g.parallel = true
	name := g.id()
	for i, c := range comms {
		g.out, g.pending = g.bodies(), make([][]request, g.ranks)
		for range 1 + g.IntN(2) {
			if g.oneIn(3) {
				g.anySource(c)
			} else {
				g.burst([]*comm{c}, 3+g.IntN(4))
			}
		}
		g.each(func(r int) {
			g.completeAll(r)
			fmt.Fprintf(&g.functions, "static void *thread%d_%d_%d(void *p)\n{\n%s\treturn said ? said : \"\";\n}\n\n",
				name, i, r, g.out[r])
		})
	}
	g.parallel = false
	g.out, g.pending = main, pending
	g.each(func(r int) {
		g.emit(r, "{ pthread_t id[%d]; void *p;", len(comms))
		for i := range comms {
			g.emit(r, "pthread_create(&id[%d], 0, thread%d_%d_%d, 0);", i, name, i, r)
		}
		g.emit(r, "for (int i = 0; i < %d; i++) pthread_join(id[i], &p), adopt(p); }", len(comms))
	})
}

// windowBegin exposes some memory of each rank; from then on the host MPI must make
// progress as well.
func (g *generator) windowBegin() {
	g.each(func(r int) {
		g.emit(r, "exposed = calloc(64, 8); E(MPI_Win_create(exposed, 64 * 8, 8, MPI_INFO_NULL, c[0], &win));")
	})
}

// windowUse writes an epoch.
func (g *generator) windowUse() {
	lock := g.oneIn(2)
	g.each(func(r int) {
		to := g.IntN(g.ranks)
		g.emit(r, "{ int64_t v = %d;", g.IntN(1000))
		if lock {
			g.emit(r, "E(MPI_Win_lock(MPI_LOCK_SHARED, %d, 0, win));", to)
		} else {
			g.emit(r, "E(MPI_Win_fence(0, win));")
		}
		g.emit(r, "E(MPI_Accumulate(&v, 1, MPI_INT64_T, %d, %d, 1, MPI_INT64_T, MPI_SUM, win));", to, g.IntN(64))
		if lock {
			g.emit(r, "E(MPI_Win_unlock(%d, win)); E(MPI_Barrier(c[0]));", to)
			g.emit(r, "E(MPI_Win_lock(MPI_LOCK_SHARED, %d, 0, win)); say(\"exposed %%lx\\n\", hash(exposed, 64 * "+
				"8)); E(MPI_Win_unlock(%d, win)); E(MPI_Barrier(c[0])); }", r, r)
		} else {
			g.emit(r, "E(MPI_Win_fence(0, win)); say(\"exposed %%lx\\n\", hash(exposed, 64 * 8)); }")
		}
	})
}
