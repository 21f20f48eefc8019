package ldso_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/ldso"
	"github.com/exanet-mpi/exanet/test/elftest"
)

// libraries returns the libraries of a program: paths below dir without it, "-" for
// those that are not found.
func libraries(t *testing.T, program, libraryPath, dir string) (list []string) {
	t.Helper()
	o, err := ldso.Open(program)
	require.NoError(t, err)
	for _, l := range ldso.NewSearch(libraryPath).Libraries(o) {
		path := "-"
		if l.Object != nil {
			path = strings.TrimPrefix(l.Object.Path, dir+"/")
		}
		list = append(list, path)
	}
	return list
}

func TestWhereLibrariesAreLookedFor(t *testing.T) {
	type files map[string]elftest.File
	lib := elftest.File{Library: true}
	for _, c := range []struct {
		name  string
		files files // the program is bin/app
		env   string
		want  []string
	}{
		{"runpath beside the program", files{"bin/app": {Needed: []string{"a.so"}, RUNPATH: "$ORIGIN/../l"},
			"l/a.so": lib}, "", []string{"l/a.so"}},
		{"in braces, second in the list", files{"bin/app": {Needed: []string{"a.so"}, RUNPATH: "/none:${ORIGIN}/l"},
			"bin/l/a.so": lib}, "", []string{"bin/l/a.so"}},
		{"$LIB", files{"bin/app": {Needed: []string{"a.so"}, RPATH: "$ORIGIN/$LIB"}, "bin/lib64/a.so": lib}, "",
			[]string{"bin/lib64/a.so"}},
		{"not found", files{"bin/app": {Needed: []string{"a.so", "b.so"}, RUNPATH: "$ORIGIN"}, "bin/b.so": lib}, "",
			[]string{"-", "bin/b.so"}},
		{"LD_LIBRARY_PATH before runpath", files{"bin/app": {Needed: []string{"a.so"}, RUNPATH: "$ORIGIN"},
			"bin/a.so": lib, "e/a.so": lib}, "e", []string{"e/a.so"}},
		{"rpath before LD_LIBRARY_PATH", files{"bin/app": {Needed: []string{"a.so"}, RPATH: "$ORIGIN"}, "bin/a.so": lib,
			"e/a.so": lib}, "e", []string{"bin/a.so"}},
		{"runpath makes rpath void", files{"bin/app": {Needed: []string{"a.so"}, RPATH: "$ORIGIN/r",
			RUNPATH: "$ORIGIN/u"}, "bin/r/a.so": lib, "bin/u/a.so": lib}, "", []string{"bin/u/a.so"}},
		{
			"runpath is not for the libraries of libraries",
			files{"bin/app": {Needed: []string{"a.so"}, RUNPATH: "$ORIGIN"},
				"bin/a.so": {Library: true, Needed: []string{"b.so"}}, "bin/b.so": lib},
			"", []string{"bin/a.so", "-"},
		},
		{
			"rpath is",
			files{"bin/app": {Needed: []string{"a.so"}, RPATH: "$ORIGIN"},
				"bin/a.so": {Library: true, Needed: []string{"b.so"}}, "bin/b.so": lib},
			"", []string{"bin/a.so", "bin/b.so"},
		},
		{
			"not for a library with a runpath",
			files{"bin/app": {Needed: []string{"a.so"}, RPATH: "$ORIGIN"},
				"bin/a.so": {Library: true, Needed: []string{"b.so"}, RUNPATH: "/none"}, "bin/b.so": lib},
			"", []string{"bin/a.so", "-"},
		},
		{"of another architecture", files{"bin/app": {Needed: []string{"a.so"}, RUNPATH: "$ORIGIN/x:$ORIGIN"},
			"bin/x/a.so": {Library: true, Machine: elftest.Foreign()}, "bin/a.so": lib}, "", []string{"bin/a.so"}},
		{
			"circles, and once each",
			files{"bin/app": {Needed: []string{"a.so", "b.so"}, RPATH: "$ORIGIN"},
				"bin/a.so": {Library: true, Needed: []string{"b.so"}},
				"bin/b.so": {Library: true, Needed: []string{"a.so"}}},
			"", []string{"bin/a.so", "bin/b.so"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			for name, f := range c.files {
				f.Write(t, filepath.Join(dir, name))
			}
			env := ""
			if c.env != "" {
				env = filepath.Join(dir, c.env)
			}
			require.Equal(t, c.want, libraries(t, filepath.Join(dir, "bin/app"), env, dir))
		})
	}
}

func TestStatic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app")
	for static, f := range map[bool]elftest.File{true: {Library: true}, false: {}} {
		f.Write(t, path)
		o, err := ldso.Open(path)
		require.NoError(t, err)
		require.Equal(t, static, o.Static())
	}
	_, err := ldso.Open("ldso_test.go")
	require.Error(t, err, "not an ELF file")
}

// What the dynamic linker itself says of programs of this host.
func TestAgainstTheLinker(t *testing.T) {
	asked := 0
	for _, name := range []string{"env", "git", "gcc", "tar", "perl", "ssh", "orterun", "mpiexec.hydra"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		o, err := ldso.Open(path)
		if err != nil || o.Static() {
			continue // a script
		}
		cmd := exec.Command(path)
		cmd.Env = append(os.Environ(), "LD_TRACE_LOADED_OBJECTS=1", "LD_PRELOAD=")
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), "libc.so") {
			continue // another linker than glibc's
		}
		asked++
		want := map[string]string{}
		for line := range strings.Lines(string(out)) {
			if name, rest, ok := strings.Cut(strings.TrimSpace(line), " => "); ok {
				want[name], _, _ = strings.Cut(rest, " ")
			}
		}
		got := map[string]string{}
		for _, l := range ldso.NewSearch(os.Getenv("LD_LIBRARY_PATH")).Libraries(o) {
			require.NotNil(t, l.Object, l.Name)
			if !strings.HasPrefix(l.Name, "ld-") { // it does not load itself
				got[l.Name] = l.Object.Path
			}
		}
		require.Equal(t, want, got, name)
	}
	if asked == 0 {
		t.Skip("none of the programs is there, or the linker is not glibc's")
	}
}
