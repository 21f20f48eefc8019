package sim

// Costs are the constants of the model: what each step takes. They are nanoseconds,
// except where the table says otherwise. Fields of the processor are times of an ARM
// Cortex-A53 core, which polls and never sleeps (thesis 3.2.5); the others are times
// of blocks and links, which work beside it.
type Costs struct {
	// Processor.
	Call     float64 `json:"call"`
	Lock     float64 `json:"lock"`
	Object   float64 `json:"object"`
	Search   float64 `json:"search"`
	Ticket   float64 `json:"ticket"`
	Allocate float64 `json:"allocate"`
	Copy     float64 `json:"copy"`
	Enqueue  float64 `json:"enqueue"`
	Dequeue  float64 `json:"dequeue"`
	Expose   float64 `json:"expose"`
	Start    float64 `json:"start"`
	Test     float64 `json:"test"`
	Notice   float64 `json:"notice"`
	Wake     float64 `json:"wake"`
	Noise    float64 `json:"noise"`

	// Blocks.
	Packetizer   float64 `json:"packetizer"`
	Mailbox      float64 `json:"mailbox"`
	MailboxDepth float64 `json:"mailbox_depth"`
	WriteStart   float64 `json:"write_start"`
	WriteLatency float64 `json:"write_latency"`
	WriteRate    float64 `json:"write_rate"`
	Notify       float64 `json:"notify"`
	Agent        float64 `json:"agent"`

	// Network.
	RateInside  float64 `json:"rate_inside"`
	RateOutside float64 `json:"rate_outside"`
	HopInside   float64 `json:"hop_inside"`
	HopOutside  float64 `json:"hop_outside"`
}

// Sources of constants.
const (
	fitted  = "calibration"
	zero    = "no source: zero"
	assumed = "assumed"

	zeroCall  = "no row tells it from call: zero"
	zeroStart = "no row tells it from write_start: zero"

	// Ploumidis and others, The ExaNeSt Prototype (FORTH-ICS TR-488): 0.47 us of a message over one
	// hop are those of the network interface and its library.
	paper = "0.47 us with enqueue, packetizer, mailbox and hop_inside, arXiv 2307.09371; how it is shared among them " +
		"is assumed"
	rates = "82 % of the link, arXiv 2307.09371; the thesis (2.5) writes GB/s, but means Gb/s: so does that paper, " +
		"and no figure of chapter 4 exceeds it"
	// Texas Instruments SPRADO9: bcopy of 8 MB on a Cortex-A53 at 1.25 GHz.
	lmbench = "1000 MB/s, LMBench on a Cortex-A53 (TI SPRADO9)"
)

// DefaultCosts are the constants of the prototype.
func DefaultCosts() Costs {
	return Costs{
		Call: 256.2, Object: 85.6, Allocate: 414.3, Copy: 1,
		Enqueue: 130, Dequeue: 516.8,
		Packetizer: 70, Mailbox: 70, MailboxDepth: 1024, WriteStart: 3978.8,
		RateInside: 0.82 * 16, RateOutside: 0.82 * 10, HopInside: 200, HopOutside: 492.1,
	}
}

// Constant is one of the costs, with what it is and where its default comes from.
// Value points into the Costs whose table it is.
type Constant struct {
	Name, Unit, Meaning, Source string
	Value                       *float64
}

// Table lists the constants that are numbers.
func (c *Costs) Table() []Constant {
	const ns = "ns"
	return []Constant{
		{"call", ns, "entering and leaving an MPI call", fitted, &c.Call},
		{"lock", ns, "taking and releasing the lock of the control logic", zeroCall, &c.Lock},
		{"object", ns, "initialising a request object and putting it into a queue, out of it again", fitted, &c.Object},
		{"search", ns, "looking at one element of a queue", zero, &c.Search},
		{"ticket", ns, "advancing the counter of a (communicator, peer, tag)", zero, &c.Ticket},
		{"allocate", ns, "allocating a request object without the memory pool of thesis 3.9, freeing it", fitted,
			&c.Allocate},
		{"copy", "ns/B", "copying or combining a byte in memory", lmbench, &c.Copy},
		{"enqueue", ns, "writing a message to the packetizer", paper, &c.Enqueue},
		{"dequeue", ns, "reading a message from the mailbox and dispatching it", fitted, &c.Dequeue},
		{"expose", ns, "converting a buffer to Exanet addresses", zero, &c.Expose},
		{"start", ns, "writing the descriptor of an RDMA write", zeroStart, &c.Start},
		{"test", ns, "testing an RDMA write for completion", zero, &c.Test},
		{"notice", ns, "seeing a notification that has been written", zero, &c.Notice},
		{"wake", ns, "returning from a wait; more than 0 for a build that waits on semaphores (thesis 3.2.5)",
			"busy waiting: zero", &c.Wake},
		{"noise", "share", "by which a cost of the processor varies, evenly to both sides", zero, &c.Noise},
		{"packetizer", ns, "a packetizer is occupied by a message", paper, &c.Packetizer},
		{"mailbox", ns, "a mailbox is occupied by a message", paper, &c.Mailbox},
		{"mailbox_depth", "messages", "that a mailbox holds, those on their way included", assumed, &c.MailboxDepth},
		{"write_start", ns, "the RDMA engine is occupied by a write before its first byte leaves", fitted,
			&c.WriteStart},
		{"write_latency", ns, "from then until the first byte leaves, beside the next write's start", zero,
			&c.WriteLatency},
		{"write_rate", "Gb/s", "of the RDMA engine; 0: that of the link", zero, &c.WriteRate},
		{"notify", ns, "from a write's last byte to its notification", zero, &c.Notify},
		{"agent", ns, "the R5 beside the sender is occupied by a CTS of the read-based baseline", zero, &c.Agent},
		{"rate_inside", "Gb/s", "of a link between two FPGAs of a QFDB, of 16", rates, &c.RateInside},
		{"rate_outside", "Gb/s", "of a link between two QFDBs, of 10", rates, &c.RateOutside},
		{"hop_inside", ns, "from a link's first bit in to its first bit out, within a QFDB", paper, &c.HopInside},
		{"hop_outside", ns, "the same between QFDBs, with the router", fitted, &c.HopOutside},
	}
}

// Named returns the constant with a name, nil if there is none.
func (c *Costs) Named(name string) *float64 {
	for _, x := range c.Table() {
		if x.Name == name {
			return x.Value
		}
	}
	return nil
}

// model is Costs in picoseconds.
type model struct {
	call, lock, object, search, ticket, allocate, enqueue, dequeue, expose, start, test, notice, wake Time
	copyByte                                                                                          float64 // ps

	packetizer, mailbox, writeStart, writeLatency, notify, agent Time
	depth                                                        int32
	writeByte                                                    float64 // ps

	inside, outside wire
}

// wire is a kind of link.
type wire struct {
	byte float64 // ps
	hop  Time
}

func (w *wire) takes(bytes int) Time { return Time(w.byte*float64(bytes) + 0.5) }

func (c *Costs) model() model {
	perByte := func(rate float64) float64 {
		if rate <= 0 {
			return 0
		}
		return 8000 / rate
	}
	t := fromNanoseconds
	return model{
		call: t(c.Call), lock: t(c.Lock), object: t(c.Object), search: t(c.Search), ticket: t(c.Ticket),
		allocate: t(c.Allocate),
		enqueue:  t(c.Enqueue), dequeue: t(c.Dequeue), expose: t(c.Expose), start: t(c.Start), test: t(c.Test),
		notice: t(c.Notice), wake: t(c.Wake),
		copyByte:   c.Copy * float64(nanosecond),
		packetizer: t(c.Packetizer), mailbox: t(c.Mailbox), writeStart: t(c.WriteStart),
		writeLatency: t(c.WriteLatency), notify: t(c.Notify), agent: t(c.Agent),
		depth: int32(max(1, c.MailboxDepth)), writeByte: perByte(c.WriteRate),
		inside: wire{perByte(c.RateInside), t(c.HopInside)}, outside: wire{perByte(c.RateOutside), t(c.HopOutside)},
	}
}
