package preload

import (
	"maps"
	"slices"
	"strings"
)

// lists returns the LD_PRELOAD of each section, out of what the user has for it.
func (l *line) lists(users func(*section) string, library string) (lists []string, equal bool) {
	for _, s := range l.sections {
		sanitizer := ""
		if s.program != nil {
			sanitizer = s.program.sanitizer
		}
		lists = append(lists, preloadList(users(s), library, sanitizer))
	}
	return lists, len(slices.Compact(slices.Clone(lists))) == 1
}

// join puts sections together again, each with its own options in front, without the options
// that drop chooses.
func (l *line) join(front func(i int) []string, drop func(option) bool) (words []string) {
	for i, s := range l.sections {
		if i > 0 {
			words = append(words, ":")
		}
		words = append(words, front(i)...)
		at := 0
		for _, o := range s.options {
			if drop(o) {
				words = append(words, s.words[at:o.at]...)
				at = o.at + o.n
			}
		}
		words = append(words, s.words[at:]...)
	}
	return words
}

// instructHydra uses -genv, for all programs, or -env if they differ. Either works
// with -genvnone and its like.
func instructHydra(l *line, env environment, library string) []string {
	preloads := func(name string) func(option) bool {
		return func(o option) bool {
			return o.name == name && len(o.values) == 2 && o.values[0] == "LD_PRELOAD"
		}
	}
	general, local := preloads("genv"), preloads("env")
	all := env.get("LD_PRELOAD")
	for _, s := range l.sections {
		for _, o := range s.options {
			if general(o) {
				all = o.values[1]
			}
		}
	}
	lists, equal := l.lists(func(s *section) string {
		for _, o := range slices.Backward(s.options) {
			if local(o) {
				return o.values[1]
			}
		}
		return all
	}, library)
	return l.join(func(i int) (words []string) {
		if i == 0 {
			for _, name := range env.ours() {
				words = append(words, "-genv", name, env.get(name))
			}
		}
		switch {
		case equal && i == 0:
			words = append(words, "-genv", "LD_PRELOAD", lists[0])
		case !equal:
			words = append(words, "-env", "LD_PRELOAD", lists[i])
		}
		return words
	}, func(o option) bool { return general(o) || local(o) })
}

// instructOpenMPI uses -x, which counts for one section.
func instructOpenMPI(l *line, env environment, library string) []string {
	preloads := func(o option) bool {
		if o.name != "x" || len(o.values) != 1 {
			return false
		}
		name, _, _ := strings.Cut(o.values[0], "=")
		return name == "LD_PRELOAD"
	}
	lists, _ := l.lists(func(s *section) string {
		for _, o := range slices.Backward(s.options) {
			if _, value, given := strings.Cut(strings.Join(o.values, ""), "="); preloads(o) && given {
				return value
			}
		}
		return env.get("LD_PRELOAD")
	}, library)
	return l.join(func(i int) []string {
		words := []string{"-x", "LD_PRELOAD=" + lists[i]}
		for _, name := range env.ours() {
			words = append(words, "-x", name)
		}
		return words
	}, preloads)
}

// instructSlurm uses --export, which says what of the environment is passed on at all.
func instructSlurm(l *line, env environment, library string) []string {
	lists, _ := l.lists(func(s *section) string {
		for _, v := range strings.Split(s.value("export"), ",") {
			if value, ok := strings.CutPrefix(v, "LD_PRELOAD="); ok {
				return value
			}
		}
		return env.get("LD_PRELOAD")
	}, library)
	return l.join(func(i int) []string {
		passed := l.sections[i].value("export")
		for _, otherwise := range []string{env.get("SLURM_EXPORT_ENV"), "ALL"} {
			if passed == "" {
				passed = otherwise
			}
		}
		set := map[string]bool{} // what is to be passed on in addition
		for _, name := range env.ours() {
			set[name] = true
		}
		var vars []string
		for v := range strings.SplitSeq(passed, ",") {
			name, _, _ := strings.Cut(v, "=")
			delete(set, name)
			switch {
			case name == "NONE" || name == "NIL" || name == "LD_PRELOAD":
			default:
				vars = append(vars, v)
			}
		}
		if slices.Contains(vars, "ALL") {
			clear(set)
		}
		vars = append(vars, slices.Sorted(maps.Keys(set))...)
		return []string{"--export=" + strings.Join(append(vars, "LD_PRELOAD="+lists[i]), ",")}
	}, func(o option) bool { return o.name == "export" })
}
