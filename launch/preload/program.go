package preload

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/exanet-mpi/exanet/internal/ldso"
	_ "github.com/exanet-mpi/exanet/internal/platform"
)

// program is one that a command line starts.
type program struct {
	name      string      // as the user has written it
	machine   elf.Machine // 0: a script
	mpi       MPI         // "": what it is linked to does not tell
	soname    string      // the MPI library
	behind    MPI         // whose that is if it has the standard ABI; "": it was not found
	sanitizer string      // path of a runtime that must be preloaded first
	runs      bool        // it runs other code: a script, or an interpreter with one
	static    bool
}

func (p *program) String() string { return fmt.Sprintf("%s uses %v (%s)", p.name, p.mpi, p.soname) }

// inspect looks at the program at path, with the words that follow it. Its
// errors are refusals of programs that the library cannot work in.
func (p *planner) inspect(name, path string, args []string) (*program, error) {
	if interpreter := p.interpreter(path); interpreter != nil {
		if interprets(name) { // a script itself, which starts the real one
			return p.script(name, []string{path}, args)
		}
		return p.script(name, interpreter, append([]string{path}, args...))
	}
	prog := &program{name: name}
	o, err := ldso.Open(path)
	if err != nil {
		// The kernel may know what to do with it (binfmt_misc); we do not.
		return nil, &Error{name, fmt.Errorf("neither an ELF executable nor a script with #!: %w", err), 126}
	}
	prog.machine, prog.static = o.Machine, o.Static()
	switch {
	case o.Machine != ldso.Native():
		return nil, refuse(name, "is built for %s, this machine is %s", architecture(o.Machine),
			architecture(ldso.Native()))
	case prog.static:
		return prog, nil
	}
	if err := p.linked(prog, o); err != nil {
		return nil, err
	}
	if prog.mpi != "" && privileged(path) {
		return nil, refuse(name, "runs with the rights of its owner or group (chmod u+s, g+s), in which case the "+
			"dynamic linker preloads nothing from a path")
	}
	if prog.mpi == "" && interprets(name) {
		return p.script(name, []string{path}, args)
	}
	return prog, nil
}

// privileged reports whether a program runs with rights that this process has not.
func privileged(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	return ok && (st.Mode()&os.ModeSetuid != 0 && int(owner.Uid) != os.Getuid() || st.Mode()&os.ModeSetgid != 0 &&
		int(owner.Gid) != os.Getgid())
}

// linked notes in prog what an object is linked to.
func (p *planner) linked(prog *program, o *ldso.Object) error {
	for _, l := range p.search.Libraries(o) {
		if isSanitizer(l.Name) && l.Object != nil {
			prog.sanitizer = l.Object.Path
		}
		m := mpiOf(l.Name, l.Object)
		switch {
		case m == "" || m == prog.mpi:
		case prog.mpi != "":
			return refuse(prog.name, "is linked to two MPIs: %s and %s", prog.soname, l.Name)
		default:
			prog.mpi, prog.soname = m, l.Name
			if m == ABI && l.Object != nil {
				prog.behind = MPICH
				if ofOpenMPI(l.Object) {
					prog.behind = OpenMPI
				}
			}
		}
	}
	return nil
}

// mpiOf returns the MPI that a library is: by its name, and by what it needs, if
// that is known, since a libmpi.so.12 is MPICH's or an old Open MPI's.
func mpiOf(soname string, o *ldso.Object) MPI {
	switch {
	case strings.HasPrefix(soname, "libmpich.so"):
		return MPICH
	case strings.HasPrefix(soname, "libmpi_abi.so"):
		return ABI
	case !strings.HasPrefix(soname, "libmpi.so"):
		return ""
	}
	if soname == "libmpi.so.12" && (o == nil || !ofOpenMPI(o)) {
		return MPICH // and those that share its ABI
	}
	return OpenMPI
}

// ofOpenMPI reports whether an MPI library is one of Open MPI, by what it needs.
func ofOpenMPI(o *ldso.Object) bool {
	return slices.ContainsFunc(o.Needed, func(name string) bool {
		return strings.HasPrefix(name, "libopen-") || strings.HasPrefix(name, "libpmix") ||
			strings.HasPrefix(name, "libprrte")
	})
}

// architecture is what people call one.
func architecture(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "x86-64"
	case elf.EM_AARCH64:
		return "ARM64"
	}
	return strings.TrimPrefix(m.String(), "EM_")
}

// interprets reports whether a program's name is that of one that runs scripts, so
// that what it is linked to does not tell what it loads.
func interprets(name string) bool {
	base := strings.TrimRight(filepath.Base(name), "0123456789.-")
	switch base {
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy", "ipython", "perl", "ruby", "lua", "luajit",
		"tclsh",
		"R", "Rscript", "julia", "octave", "octave-cli", "java", "node", "guile":
		return true
	}
	return false
}
