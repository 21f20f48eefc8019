package main

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// cores says how many cores a job can use, and what keeps it from the others.
func cores(root fs.FS) string {
	online := countList(firstLine(root, "sys/devices/system/cpu/online"))
	usable := online
	var notes []string
	if allowed, err := sys.Affinity(); err == nil {
		if n := len(allowed); n < online || online == 0 {
			usable = n
			notes = append(notes, fmt.Sprintf("the affinity mask allows %d of %d", n, online))
		}
	}
	if quota := cpuQuota(root); quota < float64(usable) {
		notes = append(notes, fmt.Sprintf("the control group's quota is worth %.3g", quota))
	}
	return withNotes(strconv.Itoa(usable), notes)
}

func withNotes(s string, notes []string) string {
	if len(notes) == 0 {
		return s
	}
	return s + " (" + strings.Join(notes, "; ") + ")"
}

// countList counts the members of a kernel list such as "0-3,8".
func countList(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		n += b - a + 1
	}
	return n
}

// memory says how much memory there is, and what the control group allows.
func memory(root fs.FS) string {
	var total, available uint64 // bytes
	data, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(data)) {
		var kib uint64
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil {
			total = kib << 10
		} else if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); err == nil {
			available = kib << 10
		}
	}
	var notes []string
	if limit := memoryLimit(root); limit < total {
		notes = append(notes, fmt.Sprintf("the control group allows %s", size(limit)))
	}
	if total > 0 {
		return withNotes(fmt.Sprintf("%s, %s available", size(total), size(available)), notes)
	}
	all, err := sys.Memory()
	if err != nil {
		return "unknown: /proc/meminfo cannot be read"
	}
	return size(all) + " (how much is available cannot be told without /proc/meminfo)"
}

func size(b uint64) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) }

// cpuQuota is the processor time the control groups allow, in cores; infinite
// if they do not limit it.
func cpuQuota(root fs.FS) float64 {
	least := math.Inf(1)
	for _, dir := range controlGroups(root, "cpu") {
		quota, period, _ := strings.Cut(firstLine(root, path.Join(dir, "cpu.max")), " ")
		if quota == "" {
			quota = firstLine(root, path.Join(dir, "cpu.cfs_quota_us"))
			period = firstLine(root, path.Join(dir, "cpu.cfs_period_us"))
		}
		q, err1 := strconv.ParseFloat(quota, 64)
		p, err2 := strconv.ParseFloat(period, 64)
		if err1 == nil && err2 == nil && q > 0 && p > 0 { // else "max", or -1
			least = min(least, q/p)
		}
	}
	return least
}

// memoryLimit is what the control groups allow in bytes.
func memoryLimit(root fs.FS) uint64 {
	least := uint64(math.MaxUint64)
	for _, dir := range controlGroups(root, "memory") {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			if n, err := strconv.ParseUint(firstLine(root, path.Join(dir, name)), 10, 64); err == nil {
				least = min(least, n)
			}
		}
	}
	return least
}

// controlGroups returns the directories, relative to root, of the control group
// that limits this process and of those around it, for version 1 and 2.
func controlGroups(root fs.FS, controller string) (dirs []string) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path; version 2 names no controllers
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || f[1] != "" && !contains(f[1], controller) {
			continue
		}
		within, mountPoint := cgroupMount(root, f[1], controller)
		if mountPoint == "" {
			continue
		}
		// A mount may show a part of the hierarchy only.
		rel, ok := strings.CutPrefix(f[2], strings.TrimSuffix(within, "/"))
		if !ok {
			rel = "/"
		}
		for dir := path.Join("/", rel); ; dir = path.Dir(dir) {
			dirs = append(dirs, path.Join(strings.TrimPrefix(mountPoint, "/"), dir))
			if dir == "/" {
				break
			}
		}
	}
	return dirs
}

// cgroupMount finds where a hierarchy is mounted, and which part of it.
func cgroupMount(root fs.FS, controllers, controller string) (within, mountPoint string) {
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		// id parent dev root mount-point options [tags] - type source superoptions
		left, right, _ := strings.Cut(strings.TrimSpace(line), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 3 {
			continue
		}
		if controllers == "" && r[0] == "cgroup2" || controllers != "" && r[0] == "cgroup" &&
			contains(r[2], controller) {
			return l[3], l[4]
		}
	}
	return "", ""
}

// contains reports whether a comma-separated list has an element.
func contains(list, element string) bool {
	for e := range strings.SplitSeq(list, ",") {
		if e == element {
			return true
		}
	}
	return false
}

// firstLine reads a one-line file; a file that does not exist is empty.
func firstLine(root fs.FS, name string) string {
	data, _ := fs.ReadFile(root, name)
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
