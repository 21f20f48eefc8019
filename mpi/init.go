package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/mpi/internal/progress"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/customized"
)

// ThreadLevel says which goroutines make calls (MPI's thread level; thesis 2.1).
type ThreadLevel int

// Thread levels, as in MPI. All are correct for every program; the lower ones
// are promises of the program.
const (
	ThreadSingle     ThreadLevel = iota // there is one goroutine
	ThreadFunneled                      // one goroutine makes all calls
	ThreadSerialized                    // any may, one at a time
	ThreadMultiple                      // any may, at any time
)

type settings struct {
	level   ThreadLevel
	variant string
	bands   customized.Bands // of the protocols customized and auto
	still   bool             // without progress in the background
	likely  bool             // to the protocol standing every receive repeats the last, see inside.Functions
	device  string
	path    string // of the device registers; "": the launcher has a model of it
	within  string // the device, if that was asked for and is within one host

	wantedBands, wantedCheck, silence, networks string // as the environment has them, which complete reads
	bandsGiven                                  bool   // by an option, which comes before the environment

	recycling bool
	buffers   BufferRule
	outside   progress.Outside
	passed    map[string]uint64

	collectives string // algorithms that are forced, and the file of a table
	algorithms  *coll.Selection

	check    bool              // the checking mode
	report   func(line string) // its findings; nil: standard error
	site     func() string     // where the program is, if not in Go
	patience time.Duration     // of a rank that waits, before it looks for a deadlock

	segment *os.File   // of a job that no launcher of ours has made
	place   int        // this process's rank in it
	peers   *net.Peers // of other hosts, or nil
	ranks   int        // of a job without a segment
	aHost   int        // so many ranks of Run are one host on the device network, for tests; 0: each
	show    shows      // likewise, see registers_path.go

	context context.Context // with which Run ends, or nil
}

// Option is an option of Init, Main and Run.
type Option func(*settings) error

// WithThreadLevel tells which goroutines will make calls. The default is
// ThreadMultiple.
func WithThreadLevel(l ThreadLevel) Option {
	return func(s *settings) error {
		if l < ThreadSingle || l > ThreadMultiple {
			return fmt.Errorf("there is no thread level %d", l)
		}
		s.level = l
		return nil
	}
}

// WithVariant chooses the protocol, one of Variants. All ranks must give the same. The
// default is the environment variable EXANET_VARIANT, else "auto".
func WithVariant(name string) Option {
	return func(s *settings) error {
		s.variant = name
		return nil
	}
}

// The devices.
const (
	deviceHost      = "host"      // shared memory
	devicePrototype = "prototype" // shared memory, with the prototype's 64-byte messages
	deviceRegisters = "registers" // the prototype's register pages, as software
	deviceNetwork   = "network"   // TCP, as between hosts
)

// WithDevice chooses the device, one of Devices. "registers" needs the launcher, whose model
// of the hardware it uses; "registers:PATH" is hardware, or a model that runs already: a device
// node, a PCI resource or a register file, with @0xADDRESS where the registers are not at its
// start, and "registers:" what the system names. The default is EXANET_DEVICE, else "host".
func WithDevice(name string) Option {
	return func(s *settings) error {
		s.device = name
		return nil
	}
}

// WithCollectives forces algorithms on collectives: a comma-separated list of
// collective:algorithm, as "allreduce:ring,bcast:binomial"; "exanet info
// --collectives" shows what there is. With @FILE in the list, the rows of that table
// come before those built in; "exanet tune" writes one. All ranks must give the same.
// The default is EXANET_COLL.
func WithCollectives(list string) Option {
	return func(s *settings) error {
		s.collectives = list
		return nil
	}
}

// withJob is inside.Functions.WithJob.
func withJob(segment *os.File, rank int, peers *net.Peers) Option {
	return func(s *settings) error {
		if segment == nil {
			return errors.New("there is no job segment")
		}
		s.segment, s.place, s.peers = segment, rank, peers
		return nil
	}
}

func options(opts []Option) (*settings, error) {
	s := settingsOf(os.Getenv)
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(s); err != nil {
			return nil, initError(settingError{err}, "")
		}
	}
	if do, err := s.complete(); err != nil {
		return nil, initError(settingError{err}, do)
	}
	if err := statsFolder(os.Getenv(env.Stats)); err != nil {
		return nil, initError(settingError{err}, chooseFolder)
	}
	return s, nil
}

// settingError is a mistake in the settings, which all ranks of most jobs have in common.
type settingError struct{ error }

func (e settingError) Unwrap() error { return e.error }

func initError(err error, do string) error {
	return (*Comm)(nil).fail("Init", noValue, noValue, noValue, fmt.Errorf("%w: %w", ErrInit, err), do)
}

// process is what Init makes and Finalize ends.
var process struct {
	sync.Mutex
	world  *Comm
	inited bool
	ended  bool
	thread int // that called Init, as the kernel numbers them
}

// Init joins the job that the launcher has started and returns the world
// communicator, that of all ranks (MPI_Init, MPI_Init_thread). Most programs call Main
// instead. It returns when all ranks have called it. In a program that was started without a launcher the world has one
// rank. MPICH's mpirun and srun --mpi=pmi2 are launchers, too, and with package mpi/pmix those of PMIx. A program that
// another one has started as a rank of several is refused with ErrInit. It may be called once a process.
func Init(opts ...Option) (*Comm, error) {
	process.Lock()
	defer process.Unlock()
	if process.inited {
		return nil, initError(errors.New("Init was called before"), "call it once a process")
	}
	o, err := options(opts)
	if err != nil {
		return nil, err
	}
	f, err := join(o)
	if _, launched := os.LookupEnv(env.Rank); !launched && o.place == 0 { // else exanet run or rank 0 says so
		env.WarnOnce(os.Stderr)
	}
	if errors.Is(err, rdmaeng.ErrPeer) {
		return nil, (*Comm)(nil).fail("Init", noValue, noValue, noValue, fmt.Errorf("%w: %w", ErrProcFailed, err),
			"see how that rank has ended")
	} else if err != nil {
		return nil, initError(err, "")
	}
	k, err := newRank(f, o)
	if err != nil {
		return nil, initError(err, "")
	}
	world := newWorld(k)
	told.Store(k)
	process.world, process.inited, process.thread = world, true, sys.Thread()
	return world, nil
}

// profile is what all ranks must agree on. Where the thread level makes a
// difference to the protocol it is part of it.
func (s *settings) profile() string {
	p := s.variant + " on " + s.device
	if s.looksFirst() {
		p += fmt.Sprintf(", bands %d,%d", s.bands.Eager, s.bands.Hybrid)
	}
	if s.variant == "envless" && s.level == ThreadMultiple {
		p += ", multiple"
	}
	if s.check {
		p += ", checked"
	}
	if a := s.algorithms.String(); a != "" {
		p += ", " + a
	}
	return p
}

// profile is inside.Functions.Profile.
func profile(opts ...Option) (text, within string, err error) {
	o, err := options(opts)
	if err != nil {
		return "", "", err
	}
	if o.segment != nil && o.device == deviceRegisters && o.path == "" {
		return "", "", initError(errRegisters, "")
	}
	return o.profile(), o.within, nil
}

var errRegisters = errors.New("only exanet run and exanet preload --device registers have a model of the registers: " +
	"say where they are, as registers:PATH")

// join takes this process's place in the job that the environment names, and
// returns when all ranks have done so.
func join(o *settings) (fabric, error) {
	switch {
	case o.show != nil:
		return joinByPath(o, o.place, o.ranks, o.show)
	case o.segment != nil:
		return enter(o, o.segment, o.place)
	}
	text, ok := os.LookupEnv(env.Rank)
	if !ok {
		c, err := openLauncher()
		if err != nil {
			return nil, err
		}
		switch {
		case c != nil && o.path != "":
			return joinByPath(o, c.Rank, c.Size, (&cardsOf{Client: c}).Gather)
		case c != nil:
			return joinLaunched(c, o)
		}
		if err := refuseOthers(); err != nil {
			return nil, err
		}
		if o.path != "" {
			return joinByPath(o, 0, 1, func(mine []byte) ([][]byte, error) { return [][]byte{mine}, nil })
		}
		if o.device == deviceRegisters {
			return nil, errRegisters
		}
		m, err := host.NewLocalJob(1).JoinLocal(0)
		if err != nil {
			return nil, err
		}
		return host.NewFabric(m, o.limit()), nil
	}
	rank, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%s=%q is not a number", env.Rank, text)
	}
	if err := listen(rank); err != nil {
		return nil, err
	}
	if _, segment := os.LookupEnv(env.Job); !segment {
		switch {
		case o.path != "":
			return joinAtPlace(o, rank)
		case o.device == deviceRegisters:
			return nil, errRegisters
		}
		return nil, fmt.Errorf("%s is set, and %s is not: exanet run sets both; ranks that something else starts need "+
			"%s=%s:PATH", env.Rank, env.Job, env.Device, deviceRegisters)
	}
	file, err := env.File(env.Job)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return enter(o, file, rank)
}

// launcherTakes is what another's launcher may take to end a job after a death.
const launcherTakes = 5 * time.Second

// delay is how long a death waits for the launcher to end this rank before it is told. One of ours tells of deaths
// itself.
func (s *settings) delay() time.Duration {
	if s.segment == nil {
		return 0
	}
	return launcherTakes
}

// enter takes a rank's place in the job of a segment.
func enter(o *settings, segment *os.File, rank int) (fabric, error) {
	if o.segment != nil { // of another's launcher
		if o.device == deviceRegisters {
			return nil, errRegisters
		}
		reachable(rank)
	}
	m, err := host.Join(segment, rank, o.profile())
	if err != nil {
		return nil, err
	}
	if err := m.WaitJoined(); err != nil {
		return nil, err
	}
	if o.segment != nil {
		m.DetectFailures(o.delay())
	}
	return openFabric(m, o)
}

// settled makes the fabric of a member of a job that all ranks have joined.
func settled(m *host.Member, o *settings) *host.Fabric {
	f := host.NewFabric(m, o.limit())
	f.Settled()
	return f
}

// Finalize ends MPI in this process (MPI_Finalize). It returns when all ranks
// have called it and buffered sends have been delivered. No call may follow.
func Finalize() error {
	process.Lock()
	defer process.Unlock()
	if process.world == nil {
		return (*Comm)(nil).fail("Finalize", noValue, noValue, noValue, ErrInit, "call Init first, and Finalize once")
	}
	world := process.world
	process.world, process.ended = nil, true
	err := world.rank.finalize(world)
	if err != nil {
		world.rank.fab.Fail()
	}
	world.rank.quit(err)
	if err == nil {
		if e := leaveLauncher(); e != nil {
			err = world.fail("Finalize", noValue, noValue, noValue, e, "see why the launcher has gone")
		}
	}
	return err
}

func (k *rank) finalize(world *Comm) error {
	if err := k.leaveSelf(); err != nil {
		return err
	}
	if k.check != nil {
		k.check.left()
	}
	k.mu.Lock()
	k.ending = true
	k.Until(k.drained)
	k.mu.Unlock()
	// Messages, which arrive after all that has been sent before: nobody leaves while
	// others have something for it.
	began := time.Now()
	x, err := world.invoke(finalize, coll.Barrier)
	if err == nil {
		if k.check != nil {
			x.agreeToEnd()
		}
		err = x.last()
	}
	if k.stats != nil {
		k.stats.record("Finalize", 0, began)
	}
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// What still waits for room at its receiver, the last signal of the barrier
	// among it, must leave before this rank does.
	k.Until(func() bool { return k.proto.Needs()&variants.NeedsProgress == 0 })
	if k.check != nil {
		k.check.end()
	}
	k.End()
	k.fab.Finalize()
	if k.stats != nil {
		k.writeStats()
	}
	return nil
}
