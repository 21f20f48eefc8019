package preload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch/preload"
	"github.com/exanet-mpi/exanet/test/elftest"
)

// site makes a directory with two MPIs, their launchers, and programs of all kinds,
// as the working directory. In it, bin is the PATH and x has the libraries.
func site(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	lib := func(needed ...string) elftest.File {
		return elftest.File{Library: true, Needed: needed, RUNPATH: "$ORIGIN"}
	}
	app := func(needed ...string) elftest.File {
		return elftest.File{Needed: needed, RUNPATH: "$ORIGIN/lib"}
	}
	for name, f := range map[string]elftest.File{
		"lib/libmpich.so.12":    lib(),
		"lib/libmpichfort.so":   lib("libmpich.so.12"),
		"lib/libmpi.so.40":      lib("libopen-pal.so.40"),
		"lib/libopen-pal.so.40": lib(),
		"lib/libasan.so.8":      lib(),
		"old/libmpi.so.12":      lib("libopen-pal.so.13"),
		"lib/libmpi_abi.so.1":   lib(),
		"old/libmpi_abi.so.1":   lib("libopen-pal.so.90"),

		"mpich":    app("libc.so.6", "libmpich.so.12"),
		"fortran":  app("libmpichfort.so"),
		"ompi":     app("libmpi.so.40"),
		"asan":     app("libasan.so.8", "libmpich.so.12"),
		"ompiasan": app("libmpi.so.40", "libasan.so.8"),
		"abi":      app("libmpi.so.12"),
		"oldompi":  {Needed: []string{"libmpi.so.12"}, RUNPATH: "$ORIGIN/old"},
		"standard": app("libmpi_abi.so.1"),
		"both":     app("libmpich.so.12", "libmpi.so.40"),
		"plain":    app("libc.so.6"),
		"static":   {Library: true},
		"foreign":  {Machine: elftest.Foreign(), Needed: []string{"libmpich.so.12"}},
		"sub/deep": {Needed: []string{"libmpich.so.12"}, RUNPATH: "$ORIGIN/../lib"},

		"bin/timeout":       app(),
		"bin/sh":            app(),
		"bin/mpiexec.hydra": app(),
		"bin/orterun":       app("libopen-rte.so.40"),
		"bin/srun":          app(),
		"other/mpirun":      app("libprrte.so.3"),

		"x/libexanet-mpich.so":      lib(),
		"x/libexanet-mpich-go.so":   lib("libmpich.so.12", "libc.so.6"),
		"x/libexanet-openmpi.so":    lib(),
		"x/libexanet-openmpi-go.so": lib("libmpi.so.40"),
		"x/libexanet-abi.so":        lib(),
		"x/libexanet-abi-go.so":     lib("libmpi_abi.so.1"),
		"half/libexanet-mpich.so":   lib(),
		"a b/libexanet-mpich.so":    lib(),
	} {
		f.Write(t, name)
	}
	for from, to := range map[string]string{
		"bin/mpirun.mpich": "mpiexec.hydra", "bin/mpirun.openmpi": "orterun",
		"bin/mpirun":          filepath.Join(dir, "alternatives/mpirun"),
		"alternatives/mpirun": filepath.Join(dir, "bin/mpirun.openmpi"),
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(from), 0o777))
		require.NoError(t, os.Symlink(to, from))
	}
	for name, text := range map[string]string{
		"run.sh":      "#!" + dir + "/bin/sh\nset -e\n./mpich -x >out\n",
		"job.sh":      "#!" + dir + "/bin/sh\n(mpirun -np 2 ./app)\n",
		"vague.sh":    "#!" + dir + "/bin/sh\ncase x in a) ./mpich;; b) ./ompi;; esac\n",
		"nothing.sh":  "#!" + dir + "/bin/sh\necho hello\n",
		"lost":        "#!/no/such/interpreter\n",
		"text":        "no program",
		"bin/mpiexec": "#!" + dir + "/bin/sh\nexec " + dir + "/bin/mpiexec.hydra \"$@\"\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o777))
	}
	require.NoError(t, os.WriteFile("data", []byte("#!/bin/sh\n"), 0o666))
	return dir
}

// plan plans a command line of words without blanks, with variables in front.
func plan(dir, line string) (*preload.Command, error) {
	cfg := preload.Config{Env: []string{"PATH=" + dir + "/bin"}, Dirs: []string{dir + "/x"}}
	words := strings.Fields(line)
	for len(words) > 0 {
		name, value, set := strings.Cut(words[0], "=")
		if !set {
			break
		}
		switch name {
		case "MPI":
			cfg.MPI = preload.MPI(value)
		case "DIR":
			cfg.Dirs = []string{dir + "/" + strings.ReplaceAll(value, "_", " ")}
		default:
			cfg.Env = append(cfg.Env, words[0])
		}
		words = words[1:]
	}
	cfg.Words = words
	return preload.Plan(cfg)
}

// What is run; M, O and S are the libraries of MPICH, Open MPI and the standard ABI, A is libasan.
func TestPlan(t *testing.T) {
	dir := site(t)
	short := strings.NewReplacer(dir+"/x/libexanet-mpich.so", "M", dir+"/x/libexanet-openmpi.so", "O",
		dir+"/x/libexanet-abi.so", "S", dir+"/lib/libasan.so.8", "A", dir+"/old", "old")
	for _, c := range []struct{ line, want string }{
		{"mpirun.mpich -np 2 ./mpich -np 3", "LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M -np 2 ./mpich -np 3"},
		{"mpiexec -n 2 ./mpich", "LD_PRELOAD=M mpiexec -genv LD_PRELOAD M -n 2 ./mpich"},
		{"mpirun -np 2 ./ompi", "mpirun -x LD_PRELOAD=O -np 2 ./ompi"},
		{"other/mpirun ./ompi", "other/mpirun -x LD_PRELOAD=O ./ompi"},
		{"mpirun.mpich ./fortran", "LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M ./fortran"},
		{"srun -n2 --mpi=pmi2 ./mpich", "srun --export=ALL,LD_PRELOAD=M -n2 --mpi=pmi2 ./mpich"},
		{"srun -n 2 --mpi pmix ./ompi", "srun --export=ALL,LD_PRELOAD=O -n 2 --mpi pmix ./ompi"},

		// Without a launcher, and behind other programs.
		{"./mpich a b", "LD_PRELOAD=M ./mpich a b"},
		{"./ompi", "LD_PRELOAD=O ./ompi"},
		{"timeout -k 1 9 mpirun -n 2 ./ompi", "timeout -k 1 9 mpirun -x LD_PRELOAD=O -n 2 ./ompi"},
		{"timeout 9 ./mpich", "LD_PRELOAD=M timeout 9 ./mpich"},
		{"mpirun -np 2 timeout 9 ./ompi", "mpirun -x LD_PRELOAD=O -np 2 timeout 9 ./ompi"},

		// The standard ABI has no launcher of its own: the one of the MPI whose library is found.
		{"./standard", "LD_PRELOAD=S ./standard"},
		{"srun -n2 ./standard", "srun --export=ALL,LD_PRELOAD=S -n2 ./standard"},
		{"mpirun.mpich ./standard", "LD_PRELOAD=S mpirun.mpich -genv LD_PRELOAD S ./standard"},
		{"LD_LIBRARY_PATH=" + dir + "/old mpirun -n 2 ./standard",
			"LD_LIBRARY_PATH=old mpirun -x LD_PRELOAD=S -n 2 ./standard"},
		{"MPI=abi mpirun ./plain", "mpirun -x LD_PRELOAD=S ./plain"},
		{"MPI=abi mpirun ./standard", "mpirun -x LD_PRELOAD=S ./standard"},

		// Options with values that are programs' names, options that we do not know.
		{"mpirun.mpich -genv plain timeout -f plain -ppn=1 ./mpich",
			"LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M -genv plain timeout -f plain -ppn=1 ./mpich"},
		{"mpirun.mpich -sparkle 3 -n 1 ./mpich", "LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M -sparkle 3 -n 1 " +
			"./mpich"},
		{"mpirun --sparkle -n 1 -- ./ompi", "mpirun -x LD_PRELOAD=O --sparkle -n 1 -- ./ompi"},
		{"mpirun --mca btl timeout --oversubscribe -H plain ./ompi",
			"mpirun -x LD_PRELOAD=O --mca btl timeout --oversubscribe -H plain ./ompi"},
		{"mpirun.mpich -wdir sub ./deep", "LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M -wdir sub ./deep"},
		{"mpirun -n 1 ompi", "mpirun -x LD_PRELOAD=O -n 1 ompi"}, // found in the working directory

		// Several programs.
		{"mpirun.mpich -n 1 ./mpich a : -n 2 ./fortran b",
			"LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M -n 1 ./mpich a : -n 2 ./fortran b"},
		{"mpirun.mpich -n 1 ./mpich : -n 2 ./asan", "LD_PRELOAD=M mpirun.mpich -env LD_PRELOAD M -n 1 ./mpich : -env " +
			"LD_PRELOAD A:M -n 2 ./asan"},
		{"mpirun -n 1 ./ompi : ./ompiasan b", "mpirun -x LD_PRELOAD=O -n 1 ./ompi : -x LD_PRELOAD=A:O ./ompiasan b"},
		{"srun -n1 ./mpich : -n2 ./mpich", "srun --export=ALL,LD_PRELOAD=M -n1 ./mpich : --export=ALL,LD_PRELOAD=M " +
			"-n2 ./mpich"},

		// What the user preloads already stays; sanitizers come first.
		{"./asan", "LD_PRELOAD=A:M ./asan"},
		{"LD_PRELOAD=u.so ./asan", "LD_PRELOAD=A:M:u.so ./asan"},
		{"LD_PRELOAD=u.so:/l/libasan.so.6 ./asan", "LD_PRELOAD=/l/libasan.so.6:M:u.so ./asan"},
		{"LD_PRELOAD=u.so:" + dir + "/x/libexanet-mpich.so ./mpich", "LD_PRELOAD=M:u.so ./mpich"},
		{"LD_PRELOAD=u.so mpirun.mpich ./mpich", "LD_PRELOAD=M:u.so mpirun.mpich -genv LD_PRELOAD M:u.so ./mpich"},
		{"mpirun.mpich -genv LD_PRELOAD u.so ./mpich", "LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M:u.so ./mpich"},
		{"mpirun.mpich ./mpich : -n 1 -env LD_PRELOAD u.so -n 1 ./mpich",
			"LD_PRELOAD=M mpirun.mpich -env LD_PRELOAD M ./mpich : -env LD_PRELOAD M:u.so -n 1 -n 1 ./mpich"},
		{"mpirun -n 1 -x LD_PRELOAD=u.so -x B ./ompi", "mpirun -x LD_PRELOAD=O:u.so -n 1 -x B ./ompi"},
		{"LD_PRELOAD=u.so mpirun -x LD_PRELOAD ./ompi", "LD_PRELOAD=u.so mpirun -x LD_PRELOAD=O:u.so ./ompi"},

		// EXANET_ variables.
		{"EXANET_VARIANT=rtr EXANET_STATS= mpirun.mpich ./mpich",
			"EXANET_VARIANT=rtr EXANET_STATS= LD_PRELOAD=M mpirun.mpich -genv EXANET_STATS  -genv EXANET_VARIANT rtr " +
				"-genv LD_PRELOAD M ./mpich"},
		{"EXANET_VARIANT=rtr mpirun ./ompi : ./ompi",
			"EXANET_VARIANT=rtr mpirun -x LD_PRELOAD=O -x EXANET_VARIANT ./ompi : -x LD_PRELOAD=O -x EXANET_VARIANT " +
				"./ompi"},
		{"EXANET_VARIANT=rtr srun --export=NONE,A=1 ./ompi",
			"EXANET_VARIANT=rtr srun --export=A=1,EXANET_VARIANT,LD_PRELOAD=O ./ompi"},
		{"SLURM_EXPORT_ENV=A,B srun --export LD_PRELOAD=u.so,A ./ompi",
			"SLURM_EXPORT_ENV=A,B srun --export=A,LD_PRELOAD=O:u.so ./ompi"},

		// Scripts.
		{"mpirun.mpich -n 2 ./run.sh", "LD_PRELOAD=M mpirun.mpich -genv LD_PRELOAD M -n 2 ./run.sh"},
		{"./run.sh", "LD_PRELOAD=M ./run.sh"},
		{"sh run.sh", "LD_PRELOAD=M sh run.sh"},
		{"sh -c ./ompi", "LD_PRELOAD=O sh -c ./ompi"},
		{"./job.sh", "LD_PRELOAD=O ./job.sh"},
		{"mpirun ./nothing.sh", "mpirun -x LD_PRELOAD=O ./nothing.sh"},
		{"mpirun ./vague.sh", "mpirun -x LD_PRELOAD=O ./vague.sh"},

		// The user knows better.
		{"MPI=mpich ./plain", "LD_PRELOAD=M ./plain"},
		{"MPI=openmpi mpirun ./plain", "mpirun -x LD_PRELOAD=O ./plain"},
		{"MPI=openmpi mpirun --app plain", "mpirun -x LD_PRELOAD=O --app plain"},
		{"MPI=openmpi ./nothing.sh", "LD_PRELOAD=O ./nothing.sh"},
	} {
		t.Run(c.line, func(t *testing.T) {
			got, err := plan(dir, c.line)
			require.NoError(t, err)
			var words []string
			for _, v := range got.Env {
				if name, _, _ := strings.Cut(v, "="); name != "PATH" {
					words = append(words, v)
				}
			}
			assert.Equal(t, c.want, short.Replace(strings.Join(append(words, got.Words...), " ")))
		})
	}
}

func TestRefusals(t *testing.T) {
	dir := site(t)
	for _, c := range []struct {
		line, says string
		code       int
	}{
		{"./static", "statically", 2},
		{"mpirun.mpich -n 2 ./static", "statically", 2},
		{"mpirun.mpich ./mpich : ./static", "statically", 2},
		{"MPI=mpich ./static", "statically", 2},
		{"./foreign", "is built for", 2},
		{"mpirun.mpich ./foreign", "is built for", 2},
		{"./plain", "not linked to MPICH or Open MPI", 2},
		{"./plain ./text", "not linked", 2},
		{"mpirun ./plain", "not linked", 2},
		{"./both", "two MPIs", 2},
		{"mpirun ./mpich", "mpirun: is Open MPI's launcher, but ./mpich uses MPICH (libmpich.so.12): start it with " +
			"mpirun.mpich", 2},
		{"mpirun.mpich ./ompi", "start it with mpirun.openmpi", 2},
		{"mpirun ./run.sh", "but ./run.sh uses MPICH", 2},
		{"MPI=mpich mpirun ./plain", "but --mpi says MPICH", 2},
		{"MPI=mpich mpirun.mpich ./ompi", "./ompi: uses Open MPI (libmpi.so.40), but --mpi says MPICH: leave " +
			"that out", 2},
		{"mpirun ./ompi : ./mpich", "uses MPICH (libmpich.so.12), but ./ompi uses Open MPI", 2},
		{"mpirun ./standard", "mpirun: is Open MPI's launcher, but ./standard finds the libmpi_abi.so.1 of MPICH: " +
			"start it with mpirun.mpich", 2},
		{"mpirun.mpich ./abi", "libmpi.so.12, but " + dir + "/x/libexanet-mpich.so is made for libmpich.so.12", 2},
		{"mpirun ./oldompi", "libmpi.so.12, but " + dir + "/x/libexanet-openmpi.so is made for libmpi.so.40", 2},
		{"DIR=y ./mpich", "make preload", 2},
		{"DIR=half ./mpich", "libexanet-mpich-go.so", 2},
		{"DIR=a_b ./mpich", "spaces", 2},
		{"./nothing.sh", "--mpi", 2},
		{"srun ./nothing.sh", "--mpi", 2},
		{"mpirun -n 2", "which program", 2},
		{"mpirun --app plain", "which program", 2},
		{"no-such", "no such program", 127},
		{"./no-such", "no such program", 127},
		{"mpirun -n 2 ./no-such", "./no-such: there is no such program", 127},
		{"./sub", "directory", 126},
		{"./data", "not executable", 126},
		{"./text", "neither", 126},
		{"./lost", "no such program", 126},
	} {
		t.Run(c.line, func(t *testing.T) {
			_, err := plan(dir, c.line)
			var e *preload.Error
			require.ErrorAs(t, err, &e)
			assert.Contains(t, err.Error(), c.says)
			assert.Equal(t, c.code, e.ExitCode())
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestRefusesWhatHasRightsOfItsOwn(t *testing.T) {
	dir := site(t)
	require.NoError(t, os.Chmod("mpich", 0o755|os.ModeSetuid))
	_, err := plan(dir, "mpirun.mpich ./mpich")
	require.NoError(t, err, "they are this user's")
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	require.NoError(t, os.Chown("mpich", 1, -1)) // which takes the bit away
	require.NoError(t, os.Chmod("mpich", 0o755|os.ModeSetuid))
	_, err = plan(dir, "mpirun.mpich ./mpich")
	assert.ErrorContains(t, err, "./mpich: runs with the rights of its owner")
}

// What a Python script loads decides, found by that Python itself.
func TestPython(t *testing.T) {
	dir := site(t)
	elftest.File{Library: true, Needed: []string{"libmpich.so.12"}, RUNPATH: dir + "/lib"}.Write(t,
		"site/mpi4py/MPI.so")
	elftest.File{Library: true, Needed: []string{"libc.so.6"}}.Write(t, "site/numbers/core.so")
	files := map[string]string{
		"site/mpi4py/__init__.py": "raise SystemExit('imported')\n",
		"direct.py":               "import sys, mpi4py.MPI as MPI\n",
		"from.py":                 "#!" + dir + "/bin/env python3\nif True:\n    from mpi4py import MPI\n",
		"mine.py":                 "import numbers\nimport other.deep\n",
		"other/__init__.py":       "from mpi4py import MPI\nimport other\n",
		"none.py":                 "import numbers\n# import mpi4py\n",
	}
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o777))
	}
	elftest.File{}.Write(t, "bin/env")
	// The interpreter: it answers where modules are, and runs nothing else.
	python := "#!/bin/sh\nshift 2\nfor m; do [ -d " + dir + "/site/$m ] && echo " + dir + "/site/$m; done; exit 0\n"
	require.NoError(t, os.WriteFile("bin/python3", []byte(python), 0o777))

	for line, want := range map[string]preload.MPI{
		"python3 direct.py":                 preload.MPICH,
		"mpiexec.hydra python3 mine.py":     preload.MPICH,
		"./from.py":                         preload.MPICH,
		"python3 -m mpi4py none.py":         preload.MPICH,
		"srun -n 2 python3 -u direct.py":    preload.MPICH,
		"mpirun python3 none.py":            preload.OpenMPI,
		"mpirun.mpich python3 -u none.py x": preload.MPICH,
	} {
		c, err := plan(dir, line)
		if assert.NoError(t, err, line) {
			assert.Equal(t, want, c.MPI, line)
		}
	}
	for _, line := range []string{"python3 none.py", "mpirun python3 direct.py"} {
		_, err := plan(dir, line)
		assert.Error(t, err, line)
	}
}

func TestWithout(t *testing.T) {
	env := []string{"A=1", "LD_PRELOAD=/x/libexanet-mpich.so:u.so /y/libexanet-openmpi.so /libexanet-abi.so"}
	assert.Equal(t, []string{"A=1", "LD_PRELOAD=u.so"}, preload.Without(env))
	assert.Equal(t, []string{"A=1"}, preload.Without(env[:1]))
}

func TestDirs(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/go.mod", []byte("module github.com/exanet-mpi/exanet\n\ngo 1.26\n"), 0o666))
	require.NoError(t, os.Mkdir(dir+"/sub", 0o777))
	assert.Equal(t, []string{"/e", "/e/bin", dir + "/bin"}, preload.Dirs("/e/exanet", dir+"/sub"))
	require.NoError(t, os.WriteFile(dir+"/sub/go.mod", []byte("module other\n"), 0o666))
	assert.Equal(t, []string{"/e", "/e/bin"}, preload.Dirs("/e/exanet", dir+"/sub"))
}
