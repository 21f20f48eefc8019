package preload

import (
	"slices"
	"strconv"
	"strings"
)

// line is a command line that has been understood.
type line struct {
	path     string // of its first word
	at       int    // where the launcher is among the words; what is before it runs it
	word     string // how the user calls it
	launcher *launcher
	sections []*section // with colons between them; without a launcher there is one
}

// programs returns those that have been looked at.
func (l *line) programs() (list []*program) {
	for _, s := range l.sections {
		if s.program != nil {
			list = append(list, s.program)
		}
	}
	return list
}

// ranks is how many there will be, 0 if the command does not say.
func (l *line) ranks() (all int) {
	if l.launcher == nil {
		return 0 // what runs may be a script
	}
	for _, s := range l.sections {
		n, err := strconv.Atoi(s.value("n", "np", "ntasks"))
		if err != nil {
			return 0
		}
		all += n
	}
	return all
}

// section is what a launcher starts together: options, a program, its arguments.
type section struct {
	words   []string
	options []option
	at      int // of the program in words
	program *program
}

// option is an option of a launcher: words[at:at+n] of its section.
type option struct {
	at, n  int
	name   string // without dashes
	values []string
}

// value returns the last value of the options of these names, "" if there is none.
func (s *section) value(names ...string) string {
	for _, o := range slices.Backward(s.options) {
		if slices.Contains(names, o.name) && len(o.values) > 0 {
			return o.values[len(o.values)-1]
		}
	}
	return ""
}

// read understands a command line. Its first word is a launcher, an MPI program, a
// script, or something like timeout or env that runs one of these.
func (p *planner) read(words []string) (*line, error) {
	path, err := p.env.lookPath(words[0], "")
	if err != nil {
		return nil, err
	}
	l := &line{path: path, word: words[0]}
	if l.launcher = launcherAt(path); l.launcher != nil {
		return l, p.split(l, words[1:])
	}
	prog, err := p.inspect(words[0], path, words[1:])
	if err != nil {
		return nil, err
	}
	l.sections = []*section{{words: words, program: prog}}
	if prog.mpi != "" || prog.runs {
		return l, nil
	}
	for i := 1; i < len(words); i++ {
		path, err := p.env.lookPath(words[i], "")
		if err != nil {
			continue
		}
		if found := launcherAt(path); found != nil {
			l.at, l.word, l.launcher, l.sections = i, words[i], found, nil
			return l, p.split(l, words[i+1:])
		}
		if run, err := p.inspect(words[i], path, words[i+1:]); err == nil && (run.mpi != "" || run.runs) &&
			!prog.static {
			l.sections[0].program = run
			return l, nil
		}
	}
	return l, p.useless(prog)
}

// useless says why the library could do nothing for a program, nil if it can.
func (p *planner) useless(prog *program) error {
	switch {
	case prog.static:
		return refuse(prog.name, "is linked statically, so nothing can be preloaded into it: link it to the shared "+
			"library of its MPI")
	case prog.mpi == "" && !prog.runs && p.MPI == "":
		return refuse(prog.name, "is not linked to MPICH or Open MPI (if it loads one when it runs, say which: --mpi "+
			"mpich, openmpi or abi)")
	}
	return nil
}

// split divides the words after a launcher into sections and looks at the
// programs in them.
func (p *planner) split(l *line, words []string) error {
	for begin := 0; begin <= len(words); {
		end := len(words)
		if n := slices.Index(words[begin:], ":"); n >= 0 {
			end = begin + n
		}
		s := &section{words: words[begin:end]}
		if err := p.section(l, s); err != nil {
			return err
		}
		l.sections = append(l.sections, s)
		begin = end + 1
	}
	return nil
}

// section finds the program of s.
func (p *planner) section(l *line, s *section) error {
	unknown := false // the last option is one that we do not know: a value may follow
	for s.at < len(s.words) {
		word := s.words[s.at]
		if o, ok := l.launcher.option(s.words, s.at); ok {
			s.options = append(s.options, o)
			s.at += o.n
			unknown = !l.launcher.knows(o.name)
			if word == "--" {
				unknown = false
			}
			continue
		}
		path, err := p.started(s, word)
		if err != nil && unknown && s.at+1 < len(s.words) {
			s.options = append(s.options, option{at: s.at, n: 1})
			s.at, unknown = s.at+1, false
			continue
		}
		if err != nil {
			return err
		}
		if s.program, err = p.inspect(word, path, s.words[s.at+1:]); err != nil {
			return err
		}
		return p.wrapped(s)
	}
	if p.MPI != "" { // the programs are in a file
		return nil
	}
	return refuse(l.word, "which program does it start? (if a file says so: say --mpi mpich, openmpi or abi)")
}

// wrapped looks behind programs like env and valgrind, which run an MPI program.
func (p *planner) wrapped(s *section) error {
	if s.program.mpi != "" || s.program.runs {
		return nil
	}
	for i := s.at + 1; i < len(s.words) && !s.program.static; i++ {
		path, err := p.started(s, s.words[i])
		if err != nil {
			continue
		}
		if run, err := p.inspect(s.words[i], path, s.words[i+1:]); err == nil && (run.mpi != "" || run.runs) {
			s.program = run
			return nil
		}
	}
	return p.useless(s.program)
}

// started finds the executable that a launcher would start in a section.
func (p *planner) started(s *section, word string) (string, error) {
	dir := s.value("wdir", "wd", "D", "chdir")
	path, err := p.env.lookPath(word, dir)
	if err == nil {
		return path, nil
	}
	for _, d := range []string{s.value("path"), dir, "."} {
		if !strings.HasPrefix(word, "/") && d != "" {
			if path, e := p.env.lookPath("./"+word, d); e == nil {
				return path, nil
			}
		}
	}
	return "", err
}
