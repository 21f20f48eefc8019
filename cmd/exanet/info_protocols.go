package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants/auto"
)

// protocolForms says how the long messages of each protocol go.
var protocolForms = map[string]string{
	"readbased":  "RTS, CTS to an agent beside the sender, write, Ack",
	"rtr":        "the sender first: RTS, CTS, write; the receiver first: RTR, Env, write",
	"envless":    "the sender first: RTS, CTS, write; the receiver first: RTR, write",
	"ticket":     "the sender first: RTS, CTS, write (SEND_RNDV); the receiver first: RTR, write (RECV_RNDV)",
	"optimistic": "RTR, write",
	"customized": "as ticket; a send of medium size that comes first leaves a copy (HYBRID)",
	"standing":   "as ticket; if a receive repeats with the same buffer, the write alone",
	"auto":       "as ticket, until what it has counted favours another form:",
}

// printProtocols writes how each protocol of this build sends long messages, by which rule auto chooses, and which
// sizes an environment sets.
func printProtocols(w io.Writer, environ []string) error {
	small, medium, err := within.Sizes(environ)
	if err != nil {
		return usageError{err}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range mpi.Variants() {
		fmt.Fprintf(t, "%s\t%s\n", name, protocolForms[name])
		if name != "auto" {
			continue
		}
		r := auto.Default
		for _, line := range []string{
			"Each rank counts, for each communicator, peer and power of two of the size.",
			fmt.Sprintf("HYBRID: to begin, %d sends more came first than did not; to end, none. A send that", r.Late),
			fmt.Sprintf("  crossed its receive counts for %d. It is for sizes to the second of EXANET_BANDS.",
				r.Crossed),
			fmt.Sprintf("No RTR: %d RTRs were in vain, because eager messages took their receives, for each",
				r.Silence),
			"  receive of that kind without one; a long message that comes for it uses them up.",
		} {
			fmt.Fprintf(t, "\t%s\n", line)
		}
	}
	if !slices.ContainsFunc(mpi.Variants(), func(v string) bool { return v == "customized" || v == "auto" }) {
		return t.Flush()
	}
	device := cmp.Or(deviceOf(environ), mpi.Devices()[0])
	for i, line := range []string{
		fmt.Sprintf("customized and auto on the device %s: small to %d B, medium to %d B", device, small, medium),
		"EXANET_BANDS=SMALL,MEDIUM sets others. SMALL is 0, for what a message of the device holds,",
		fmt.Sprintf("  or at least %d, which is what control messages carry.", packetizer.PayloadLimit),
	} {
		fmt.Fprintf(t, "%s\t%s\n", []string{"sizes", ""}[min(i, 1)], line)
	}
	return t.Flush()
}
