package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// controlKinds are the control messages in the order of the table.
var controlKinds = []struct{ name, what string }{
	{"RTS", "a sender announces a message"},
	{"CTS", "a receiver answers an RTS"},
	{"RTR", "a receiver advertises its buffer"},
	{"Env", "the envelope of a message that was written"},
	{"EnvD", "a short message with its envelope"},
	{"EnvDS", "the same, and the sender waits for an Ack"},
	{"Ack", "the answer to an EnvDS"},
}

// writeDemo prints the table and the verdict. The error is the verdict's.
func writeDemo(w io.Writer, r *demoReport, s *mpi.Stats) error {
	g, p := r.Layout.Global(), r.Layout.Ranks
	var b strings.Builder
	fmt.Fprintf(&b, "Conjugate gradients on %d x %d x %d points, %d processes (%d x %d x %d), variant %s\n",
		g[0], g[1], g[2], r.Layout.Size(), p[0], p[1], p[2], s.Variant)
	fmt.Fprintf(&b, "%d iterations in %.2f s, %.0f us each\n\ntime, mean over the ranks\n", r.Verdict.Iterations,
		r.Elapsed.Seconds(),
		r.Elapsed.Seconds()*1e6/float64(max(r.Verdict.Iterations, 1)))

	row := func(name string, value string, note string) {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-14s%10s  %s", name, value, note), " "))
	}
	share := func(d time.Duration) string { return fmt.Sprintf("%.1f %%", 100*d.Seconds()/r.Elapsed.Seconds()) }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
	row("halo exchange", seconds(r.Times.Halo), share(r.Times.Halo))
	row("allreduce", seconds(r.Times.Allreduce), share(r.Times.Allreduce))
	row("compute", seconds(r.Times.Compute), share(r.Times.Compute))
	fmt.Fprintf(&b, "messages, sums over the ranks (gathering the result included)\n")
	for _, k := range controlKinds {
		row(k.name, fmt.Sprint(s.Control[k.name]), k.what)
	}
	row("RDMA writes", fmt.Sprint(s.Writes), "long messages, straight into the receiver's buffer")
	row("receives", fmt.Sprint(s.Receives), "")
	row("fast receives", percent(s.FastReceives, s.Receives), "advertised before the send was posted; "+
		percent(s.FastReceives, s.Writes)+" of those that take an RDMA write")

	v := r.Verdict
	fmt.Fprintf(&b, "\nresidual  %.9e in parallel, %.9e serially, %.9e from the solution\n", v.Residual, v.Serial,
		v.True)
	fmt.Fprintf(&b, "solution  differs from the serial one by %.1e; rounding explains up to %.1e\n", v.Difference,
		v.Allowed)
	verdict := v.Err()
	if verdict == nil {
		fmt.Fprintf(&b, "\nOK: the parallel solve agrees with the serial one\n")
	} else {
		fmt.Fprintf(&b, "\nWRONG: %v\n", verdict)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return verdict
}

// percent is part of whole, 0 of nothing.
func percent(part, whole uint64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1)))
}
