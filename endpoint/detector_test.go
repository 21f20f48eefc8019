package endpoint

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// watched is a rank of this process with a detector.
type watched struct {
	*Endpoint
	*Detector
	dead []int
}

// watch makes ranks on the nodes of a device.
func watch(t *testing.T, d *regs.Device, of []int, silence time.Duration) (ranks []*watched) {
	t.Helper()
	var entries []Entry
	for _, node := range of {
		blocks, err := Locate(d.Path(node))
		require.NoError(t, err)
		e, err := Attach(blocks, 0)
		require.NoError(t, err)
		detector, err := e.NewDetector(len(of), silence)
		require.NoError(t, err)
		r := &watched{Endpoint: e, Detector: detector}
		x := e.Entry()
		x.Table = r.Table()
		ranks, entries = append(ranks, r), append(entries, x)
	}
	for i, r := range ranks {
		require.NoError(t, r.Join(i, entries))
		r.Begin(entries)
	}
	return ranks
}

// look has a rank look until it has found so many dead, but not before it has asked everybody several times.
func (r *watched) look(want int) []int {
	began := time.Now()
	for time.Since(began) < silence/2 || len(r.dead) < want && time.Since(began) < limit {
		r.dead = append(r.dead, r.Look(time.Now())...)
		time.Sleep(time.Millisecond)
	}
	return r.dead
}

const silence = 2 * time.Second

// Nobody is dead who lives, or who has left; who has ended without a word is, once.
func TestDetector(t *testing.T) {
	ranks := watch(t, device(t, 2, 1, 1), []int{0, 0, 1, 2}, silence)
	require.Empty(t, ranks[0].look(0))
	ranks[1].Leave()
	require.NoError(t, ranks[1].Endpoint.Close())
	require.NoError(t, ranks[3].Endpoint.Close()) // as when its process is killed
	require.Equal(t, []int{3}, ranks[0].look(1))
	require.Equal(t, []int{3}, ranks[0].look(1), "once, and not who has left")
	require.Equal(t, []int{3}, ranks[2].look(1))
}

// The words of the detector are where the device writes, and the process sees it.
func TestDetectorInPinnedMemory(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1, 1, 1}, Window: 256 << 10, Incoherent: true}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	ranks := watch(t, d, []int{0, 0, 0}, silence)
	ranks[1].Leave()
	require.NoError(t, ranks[1].Endpoint.Close())
	require.NoError(t, ranks[2].Endpoint.Close())
	require.Equal(t, []int{2}, ranks[0].look(1), "who has left is not dead")
}

// More ranks than pinned memory has room for are refused, and what the error asks for is enough, and not too much.
func TestDetectorWithoutRoom(t *testing.T) {
	detector := func(window, ranks int) error {
		d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1}, Window: window}}})
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		blocks, err := Locate(d.Path(0))
		require.NoError(t, err)
		e, err := Attach(blocks, 0)
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close()) }()
		_, err = e.NewDetector(ranks, silence)
		return err
	}
	require.NoError(t, detector(mmio.MinWindow, 1000))
	for _, ranks := range []int{3000, 4000, 5001, 100_000} {
		err := detector(mmio.MinWindow, ranks)
		require.ErrorIs(t, err, rdmaeng.ErrRoom)
		require.NotContains(t, err.Error(), "\n")
		asked := regexp.MustCompile(`^a table of (\d+) ranks: attach .*: no room .* pin (\d+) bytes or more for a ` +
			`channel, or start fewer ranks$`).FindStringSubmatch(err.Error())
		require.Len(t, asked, 3, err.Error())
		require.Equal(t, strconv.Itoa(ranks), asked[1])
		enough, err := strconv.Atoi(asked[2])
		require.NoError(t, err)
		require.NoError(t, detector(enough, ranks))
		require.ErrorIs(t, detector(max(mmio.MinWindow, enough-2*mmio.PageSize), ranks), rdmaeng.ErrRoom)
	}
}

// With a device that answers no more all others are out of reach.
func TestDetectorSilence(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{ID: 1, PDIDs: []uint32{1}}, {ID: 2, PDIDs: []uint32{1, 1}}}})
	require.NoError(t, err)
	ranks := watch(t, d, []int{0, 1, 1}, silence/10)
	require.Empty(t, ranks[0].look(0))
	require.NoError(t, d.Close())
	require.NoError(t, ranks[0].Silent())
	require.ElementsMatch(t, []int{1, 2}, ranks[0].look(2))
	require.ErrorContains(t, ranks[0].Silent(), "the device of this node, 1,")
}

// faulty is memory that cannot be written.
type faulty struct{}

func (faulty) Read(int, uint64, uint64, []byte) uint64  { return mmio.Fault }
func (faulty) Write(int, uint64, uint64, []byte) uint64 { return mmio.Fault }

// A rank whose memory cannot be written for long is dead, and so are the others of its node.
func TestDetectorFault(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{ID: 1, PDIDs: []uint32{1, 1}},
		{ID: 2, PDIDs: []uint32{1, 1}, Memory: faulty{}}}})
	require.NoError(t, err)
	defer d.Close()
	ranks := watch(t, d, []int{0, 0, 1, 1}, silence)
	require.ElementsMatch(t, []int{2, 3}, ranks[0].look(2))
	require.ElementsMatch(t, []int{2, 3}, ranks[0].look(2), "once")
}

// slow is memory that takes its time.
type slow struct{ time.Duration }

func (s slow) Read(int, uint64, uint64, []byte) uint64  { time.Sleep(s.Duration); return mmio.OK }
func (s slow) Write(int, uint64, uint64, []byte) uint64 { time.Sleep(s.Duration); return mmio.OK }

// A device that answers late, whomever it is asked about, is no sign of a death.
func TestDetectorSlow(t *testing.T) {
	const limit = silence / 20
	memory := slow{limit}
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{ID: 1, PDIDs: []uint32{1}, Memory: memory},
		{ID: 2, PDIDs: []uint32{1}, Memory: memory}}})
	require.NoError(t, err)
	defer d.Close()
	require.Empty(t, watch(t, d, []int{0, 1}, limit)[0].look(0))
}

// A node that does not answer while the own device does is dead, with all its ranks.
func TestDetectorSilentNode(t *testing.T) {
	const limit = silence / 4
	d := device(t, 1, 2, 1)
	ranks := watch(t, d, []int{0, 1, 1, 2}, limit)
	require.Empty(t, ranks[0].look(0))

	// The last descriptor of rank 0 is one that the hardware has still to carry out, as it seems.
	blocks, err := Locate(d.Path(0))
	require.NoError(t, err)
	page, err := mmio.Map(d.File(0), blocks.Channel.Offset, mmio.PageSize)
	require.NoError(t, err)
	defer page.Close()
	const last = mmio.Descriptors - 1
	page.Reg(mmio.DescBase + last*mmio.DescSize + mmio.DescDone).Store(1)
	for len(ranks[0].asking) > 0 {
		require.Empty(t, ranks[0].Look(time.Now()))
	}
	ranks[0].peers[1].transfer = rdmaeng.Transfer{Stage: 1, Slot: last}
	ranks[0].asking = []int{1}
	require.Equal(t, []int{1, 2}, ranks[0].look(2))
}
