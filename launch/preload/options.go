package preload

// The launchers' options, without dashes, as their help has them: those that are
// followed by values, and by how many, and those that are not. After an option that
// is in neither table a word that is no executable is taken for its value.

func values(n int, names ...string) map[string]int {
	m := map[string]int{}
	for _, name := range names {
		m[name] = n
	}
	return m
}

func merged(maps ...map[string]int) map[string]int {
	all := map[string]int{}
	for _, m := range maps {
		for name, n := range m {
			all[name] = n
		}
	}
	return all
}

// Hydra of MPICH 3 and 4.
var (
	hydraTakes = merged(values(2, "genv", "env"), values(1,
		"n", "np", "genvlist", "envlist", "f", "hostfile", "machine", "machines", "machinefile", "machinelist", "host",
		"hosts", "hostlist", "wdir", "wd", "path", "configfile", "arch", "soft", "launcher", "launcher-exec",
		"bootstrap", "bootstrap-exec", "rmk", "topolib", "bind-to", "map-by", "membind", "demux", "iface", "ppn",
		"perhost", "prepend-pattern", "outfile-pattern", "errfile-pattern", "outfile", "errfile", "nameserver",
		"order-nodes", "localhost", "usize", "gpus-per-proc", "pmi-port-range", "timeout"))
	hydraFlags = []string{
		"genvnone", "genvall", "envnone", "envall", "enable-x", "disable-x", "verbose", "v", "info", "version",
		"print-all-exitcodes", "profile", "prepend-rank", "l", "disable-auto-cleanup", "enable-auto-cleanup",
		"disable-hostname-propagation", "enable-hostname-propagation", "pmi-port", "skip-launch-node",
	}
)

// orterun of Open MPI 4, prterun of Open MPI 5.
var (
	openMPITakes = merged(values(2, "mca", "gmca", "omca", "gomca", "pmixmca", "gpmixmca", "prtemca", "gprtemca"),
		values(1,
			"am", "app", "bind-to", "c", "np", "n", "cf", "cartofile", "cpu-list", "cpu-set", "cpus-per-proc",
			"cpus-per-rank", "debugger", "default-hostfile", "H", "host", "hnp", "hostfile", "launch-agent",
			"machinefile", "map-by", "max-restarts", "max-vm-size", "N", "npernode", "npersocket", "ompi-server",
			"output-filename", "path", "personality", "ppr", "prefix", "preload-files", "rank-by", "report-events",
			"report-pid", "report-uri", "rf", "rankfile", "stdin", "timeout", "tune", "wd", "wdir", "x", "xml-file",
			"xterm", "output", "display", "runtime-options", "pset", "rtos", "spawn-timeout", "with-ft", "dvm-uri",
			"dvm", "memory-alloc-kinds"))
	openMPIFlags = []string{
		"allow-run-as-root", "bind-to-core", "bind-to-socket", "bycore", "bynode", "byslot", "continuous", "d",
		"debug-devel", "debug", "debug-daemons", "debug-daemons-file", "disable-recovery", "display-allocation",
		"display-devel-allocation", "display-devel-map", "display-diffable-map", "display-map", "display-topo",
		"do-not-launch", "do-not-resolve", "enable-instant-on-support", "enable-recovery", "fwd-mpirun-port",
		"get-stack-traces", "index-argv-by-rank", "leave-session-attached", "merge-stderr-to-stdout", "nolocal",
		"nooversubscribe", "noprefix", "novm", "output-proctable", "oversubscribe", "pernode", "q", "quiet",
		"report-bindings", "report-child-jobs-separately", "report-state-on-timeout", "s", "preload-binary",
		"set-cwd-to-session-dir", "show-progress", "tag-output", "timestamp-output", "tv", "use-hwthread-cpus",
		"use-regexp", "v", "verbose", "xml",
	}
)

// srun: values of long options may also follow a "=", of short ones at once.
var (
	slurmTakes = values(1,
		"A", "account", "acctg-freq", "b", "begin", "B", "extra-node-info", "C", "constraint", "c", "cpus-per-task",
		"comment", "core-spec", "S", "cpu-bind", "cpu-freq", "cpus-per-gpu", "D", "chdir", "d", "dependency",
		"deadline", "distribution", "m", "e", "error", "epilog", "x", "exclude", "export", "export-file", "gid",
		"gpu-bind", "gpus", "G", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "hint", "i", "input", "J",
		"job-name", "jobid", "L", "licenses", "mail-type", "mail-user", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu",
		"M", "clusters", "mpi", "n", "ntasks", "N", "nodes", "network", "nodelist", "w", "nodefile", "F",
		"ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "o", "output", "open-mode", "p",
		"partition", "power", "priority", "profile", "prolog", "q", "qos", "r", "relative", "reservation", "R",
		"signal", "slurmd-debug", "sockets-per-node", "t", "time", "time-min", "task-epilog", "task-prolog", "T",
		"threads", "threads-per-core", "tres-per-task", "uid", "W", "wait", "wckey", "P", "het-group", "container")
	slurmFlags = []string{
		"contiguous", "H", "hold", "k", "no-kill", "l", "label", "E", "preserve-env", "Q", "quiet", "O", "overcommit",
		"overlap", "s", "oversubscribe", "exact", "exclusive", "pty", "reboot", "spread-job", "u", "unbuffered",
		"use-min-nodes", "v", "verbose", "X", "disable-status", "Z", "no-allocate", "I", "immediate", "K",
		"kill-on-bad-exit", "send-libs", "bcast", "multi-prog",
	}
)
