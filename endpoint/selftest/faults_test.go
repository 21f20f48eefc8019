package selftest

import (
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/stretchr/testify/require"
)

// Each fault of the hardware is named in plain words by the first check that fails, which is one of checks.
func TestFaultsAreNamed(t *testing.T) {
	for fault, says := range map[regs.Fault]struct{ checks, words string }{
		regs.AnyPDID: {"message protection",
			`RESULT of a message with protection ID 2 in its address, to a mailbox with 1, is 0, done; ` +
				`want 1, protection IDs differ; .* was delivered to mailbox 0`},
		regs.SendLost: {"slot before TAIL",
			`a message stays in window \d+: SEND was set to (\d+), SEQ is \d+, and DONE is still \d+ after .*: the ` +
				`packetizer does not see the store to SEND, or has forgotten it`},
		// Seen by who looks between two stores. The first three look once each. The last looks again and again; it is
		// tried if the first has seen nothing.
		regs.DoneEarly: {"message to no node|message protection|message to nobody|RESULT before DONE",
			`DONE of window 0 was written before RESULT: whoever polls DONE reads the RESULT of an earlier message`},
		regs.BadRouteOK: {"message to no node",
			`RESULT of a message to node 65535, which does not exist, is 0, done; want 2, no such node or interface`},
		regs.Swapped: {"message order",
			`message \d+ of one sender arrived as number \d+: messages of one sender to one mailbox keep the order`},
		regs.TailEarly: {"slot before TAIL", `TAIL counted a message before its slot was filled`},
		regs.HeadIgnored: {"full mailbox",
			`does not look at HEAD and writes over messages that nobody has read`},
		regs.WrongNode: {"node ID",
			`NODE is 3 in the packetizers, 2 in the mailboxes and 3 in the RDMA channels: the blocks of a board`},
		regs.ChunkLost: {"write",
			`a write of 1 bytes is said to have ended well, but bytes 0 to 0 of it were never written`},
		regs.NotifiedEarly: {"data before notification",
			`the notification of a write of 300001 bytes was there before its data`},
		regs.NotifiedTwice: {"one notification",
			`the notification of a write came twice: after it was seen and set back to -1 it was written again`},
		regs.NotNotified: {"write",
			`a write of 0 bytes is said to have ended well, but its notification never came`},
		regs.AgentDeaf: {"agent",
			`a write of 0 bytes by the agent is said to have ended well, but its notification never came`},
		regs.Uncounted: {"message protection",
			`3 messages were refused for their protection ID, and REFUSED of the mailboxes counts 0`},
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			all, err := lines(t, regs.Config{Fault: fault, Nodes: []regs.Node{{ID: 3, PDIDs: []uint32{1, 1, 2}}}},
				Limit)
			var failed *FailedError
			require.ErrorAs(t, err, &failed)
			for _, l := range all {
				if l.Result == Failed {
					require.Regexp(t, "^("+says.checks+")$", l.Check)
					require.Regexp(t, says.words, l.Text)
					break
				}
			}
			require.Less(t, time.Since(begun), time.Minute, "the check ends whatever the device does")
		})
	}
	require.GreaterOrEqual(t, len(regs.Faults), 10)
}

// The same faults are found where memory is pinned.
func TestEveryFaultIsFound(t *testing.T) {
	for _, fault := range regs.Faults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			_, err := lines(t, regs.Config{Fault: fault, Nodes: []regs.Node{{PDIDs: []uint32{1, 1, 2},
				Window: 2 << 20}}},
				time.Second)
			require.Error(t, err)
		})
	}
}
