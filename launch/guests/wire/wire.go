// Package wire is what a host and the first process of a guest say to each other, over one
// TCP connection that the guest makes: a stream of Messages in JSON, in both directions.
package wire

// What the kernel's command line tells the first process.
const (
	Node  = "exanet.node"  // number of the guest, from 0
	Host  = "exanet.host"  // where the host listens
	Token = "exanet.token" // what the guest says first, to be known
	Shell = "exanet.shell" // program that runs on the console; the guest ends with it
)

// Gateway is the address of the host as QEMU's user network has it.
const Gateway = "10.0.2.2"

// Message is one of these; the others are nil.
type Message struct {
	Hello  *Hello  // guest: the first message
	Start  *Start  // host
	Signal *Signal // host
	Output *Output // guest
	Exit   *Exit   // guest: the last of a program
	Job    *Job    // guest
	Done   *Done   // host: the answer to a Job
}

// Hello says that the guest has booted.
type Hello struct {
	Token  string
	Node   int
	Device string // path of the register file
}

// Start starts a program in a process group of its own. The host chooses the ID, which all
// messages about the program have.
type Start struct {
	ID   int
	Argv []string // Argv[0] is a path in the guest, or a name to be looked up
	Env  []string // added to what all programs have
}

// Signal sends a signal to the process group of a program.
type Signal struct{ ID, Signal int }

// Output is what a program has printed.
type Output struct {
	ID   int
	Err  bool // on standard error
	Data []byte
}

// Exit tells how a program has ended; its registers are free by then.
type Exit struct {
	ID   int
	Code int    // 128 + N: by signal N; -1: it could not be started
	Text string // the same for people, if it is not 0
}

// Job asks for a program on all nodes, one rank each.
type Job struct{ Argv []string }

// Done says that the job is over.
type Done struct{ Code int }
