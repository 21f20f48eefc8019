package reproduce

// reasons are why rows do not come out, as far as the simulation shows.
var reasons = map[string]string{
	"E4": "What ticket saves in eager messages is allocations, and in a ping-pong a rank allocates while the answer " +
		"is on its way: it costs nothing. The counters that ticket advances have no cost either, since no " +
		"calibration row fixes one.",
	"E5": "Optimistic saves the counters of ticket. No calibration row and no source says what advancing one takes, " +
		"so the simulator has zero for it.",
	"E6": "In the simulation readbased pays for its Ack here as well: the answer's RTS follows it, and the same " +
		"processor takes both out of the mailbox. The prototype has a second thread for that, which the text's equal " +
		"times suggest hides it. The search that the text blames has no row that fixes its cost and takes nothing.",
	"E7":  "The saving is that of E6: of the Ack and of a crossing RTR.",
	"E10": "As E4: in a ping-pong allocations are hidden by the message's way, the more so over 3 hops.",
	"E11": "What is saved does not grow with the distance, see E12.",
	"E12": "What ticket saves in a ping-pong is the handling of the Ack, the same at every distance; both protocols " +
		"need RTS or RTR, an answer and the write, one after the other. The text's growth with distance, 0, 11, 30 " +
		"percent, would come out if a sender learned the end of its write a fixed time after it has left, and " +
		"not a way back later: its next receive's RTR would then be under way before the answer's RTS. The " +
		"text does not say when the engine tells.",
	"E18": "The saved control messages weigh as much as at 1 KiB, against a write of 5 us at the rate of the link. " +
		"The prototype's writes of 8 KiB must be slower than that, which no calibration row shows.",
	"E21": "The direction is right at every number of ranks. Half of the receives are fast, and each of these " +
		"shortens one of its parent's sends by as much as E17 shows; the other sends save no more than the handling " +
		"of the Ack. With 64 ranks the difference is least; why it is less than with 16 and 128 has not been " +
		"found.",
	"E24": "As E5: what optimistic saves has a cost of zero here.",
	"E25": "The direction is right, and shuffling increases the difference as the text says, but it stays just below " +
		"half of the text's: what is saved are messages that cross the network, while the writes that remain take " +
		"longer, too.",
	"E26": "A rank that waits for its children has allocated before their messages come, so that saving allocations " +
		"does not shorten the call: as E4.",
	"E27": "The difference is larger than the text's. The text says that computation and the allocation of temporary " +
		"buffers take part of its reductions; the collectives' library of the prototype, which does that, is not " +
		"known, and here combining costs a nanosecond a byte and buffers nothing.",
	"E29": "As E27.",
	"E35": "Partners of recursive doubling call at the same moment here, since nothing disturbs a rank: their " +
		"messages cross, and a receive that crosses is not fast. The prototype's ranks are late at random; the noise " +
		"of the simulator has no source and is zero.",
	"E36": "The direction is right. The text has 99 percent fast receives: its library returns from an Isend only " +
		"when the write has ended (thesis 3.3), so that all sends of a window but the first find their receives " +
		"advertised. Here Isend returns at once, and most of a window has been posted before the first RTR " +
		"comes; the receives then cross.",
	"E37": "A rank's faces of 32 KiB leave one after the other at 82 percent of 10 or 16 Gb/s, and that is most of " +
		"an exchange. All control messages together would not be the 46 percent that the text reports: its readbased " +
		"must lose time in the transfers, too, as in E61.",
	"E45": "Most of MG's time in MPI is transfers of faces of up to 130 KB and waiting for ranks that compute, " +
		"neither of which a protocol changes.",
	"E46": "Messages are of 30 KB to 2 MB, whose transfer takes 25 us to 2 ms; what ticket saves is about 2 us. The " +
		"text's difference cannot be one of control messages. It is what its readbased loses on large messages, for " +
		"which the text has no explanation (E61).",
	"E47": "As E45 and E46: messages of 10 to 60 KB. The text speaks of 7000 B on average at 25 ranks; by the " +
		"published algorithm class A has three times that.",
	"E57": "As E6. The text has no reason why readbased is ahead at this size alone.",
}

// discussed are the rows that are not scored.
var discussed = map[string]string{
	"E61": "The text itself finds no reason in the protocols, and suspects that the closed source of the baseline " +
		"sleeps while it waits for a long DMA transfer. " +
		"There is nothing here to simulate: with the same engine and the same links both protocols take the same " +
		"time at these sizes, and the figures show that.",
	"E62": "The figure has curves without numbers in the text. A lock is one constant here; that a spinlock which " +
		"never enters the kernel is the fastest of three is plain, and all variants are simulated with such a one.",
}

// unexplained is for the others.
const unexplained = "No explanation has been found."
