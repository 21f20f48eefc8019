package endpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/packetizer"
)

// sysfs is where the kernel names devices.
const sysfs = "/sys"

// What a device is called.
const (
	driverNodes = "exanet*" // nodes of the prototype's driver, in /dev

	uioName = "exanet" // of a UIO driver

	// Shared memory that a hypervisor shows a guest as a PCI device: that of guests whose registers are a model's.
	// Other programs use such devices as well, so what is in it decides.
	pciVendor = "0x1af4"
	pciDevice = "0x1110"
	pciMemory = "resource2"
)

// Found is a device that the kernel names.
type Found struct {
	Path string // for Locate
	What string // what the kernel takes it for
	Err  error  // what Locate says of it, nil if it can be used
}

// List returns the devices that the kernel names: nodes of the prototype's driver, what a UIO driver calls exanet, and
// the registers of a model in a guest's PCI memory.
func List() []Found { return list(sysfs, "/dev") }

func list(sys, dev string) (found []Found) {
	says := func(dir, file, want string) bool {
		text, err := os.ReadFile(filepath.Join(dir, file))
		return err == nil && strings.TrimSpace(string(text)) == want
	}
	add := func(path, what string) {
		_, err := Locate(path)
		found = append(found, Found{path, what, err})
	}
	nodes, _ := filepath.Glob(filepath.Join(dev, driverNodes))
	for _, path := range nodes {
		add(path, "device node")
	}
	uio, _ := filepath.Glob(filepath.Join(sys, "class/uio/*"))
	for _, dir := range uio {
		if says(dir, "name", uioName) {
			add(filepath.Join(dev, filepath.Base(dir)), "UIO device "+uioName)
		}
	}
	pci, _ := filepath.Glob(filepath.Join(sys, "bus/pci/devices/*"))
	for _, dir := range pci {
		if says(dir, "vendor", pciVendor) && says(dir, "device", pciDevice) {
			add(filepath.Join(dir, pciMemory), "PCI device "+filepath.Base(dir))
		}
	}
	return found
}

// Find returns the path of the only device that the kernel names and that can be used. The error says what there is
// instead.
func Find() (path string, err error) { return only(List()) }

func only(found []Found) (path string, err error) {
	usable := slices.DeleteFunc(slices.Clone(found), func(f Found) bool { return f.Err != nil })
	e := &packetizer.Error{Op: "find", Path: "registers", Page: -1, Err: ErrNotThere}
	switch {
	case len(usable) == 1:
		return usable[0].Path, nil
	case len(usable) > 1:
		var paths []string
		for _, f := range usable {
			paths = append(paths, f.Path)
		}
		e.Err, e.Cause = ErrSeveral, errors.New(strings.Join(paths, ", "))
		e.Do = "choose one of them, as registers:" + paths[0]
	case len(found) > 0: // the error says what to do
		e.Err, e.Cause = packetizer.ErrNoDevice, found[0].Err
	default:
		e.Cause = fmt.Errorf("no node /dev/%s, no UIO device named %s, no PCI device %s:%s", driverNodes, uioName,
			pciVendor[2:], pciDevice[2:])
		e.Do = "name its path, as registers:PATH; without hardware, exanet run --device registers has a model"
	}
	return "", e
}

// ErrSeveral is the error of Find if it cannot choose.
var ErrSeveral = errors.New("there are several devices")
