package mpi

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/packetizer"
)

// The settings of an environment. Init reads them at every rank. A launcher looks for mistakes in them before it starts
// ranks, so that it tells of one, and not each rank.

// settingsOf are those of the environment in which get finds the variables.
func settingsOf(get func(name string) string) *settings {
	return &settings{level: ThreadMultiple, variant: get(env.Variant), wantedBands: get(env.Bands),
		device: get(env.Device), collectives: get(env.Coll), silence: get(env.Silence), networks: get(env.Network),
		wantedCheck: get(env.Check), patience: patience}
}

// complete fills in what nobody has set, and returns the first mistake and what to do about it.
func (s *settings) complete() (do string, err error) {
	if s.variant == "" {
		s.variant = DefaultVariant
	}
	if do, err = oneOf("protocol", s.variant, Variants(), protocolTag); err != nil {
		return do, err
	}
	switch s.wantedCheck {
	case "", "0":
	case "1":
		s.check = true
	default:
		return "give 1, or 0 as without it", fmt.Errorf("%s=%s is neither", env.Check, s.wantedCheck)
	}
	if err := s.setBands(); err != nil {
		return wantBands, err
	}
	switch s.device {
	case "":
		s.device = deviceHost
	case deviceHost, devicePrototype:
		s.within = s.device
	}
	if path, ok := strings.CutPrefix(s.device, deviceRegisters+":"); ok {
		if s.device, s.path = deviceRegisters, path; path == "" {
			s.path = itself
		}
		if strings.HasPrefix(path, "/proc/") { // a model, in a process of one host
			s.within = deviceRegisters
		}
		if slices.Contains(strings.Split(s.path, ","), "") {
			return "give paths with commas between, as " + deviceRegisters + ":/dev/exanet0,/dev/exanet1",
				fmt.Errorf("a path is empty in the device %s:%s", deviceRegisters, s.path)
		}
	}
	if do, err = oneOf("device", s.device, Devices(), ""); err != nil {
		if strings.Contains(s.device, "/") {
			do += "; registers at a path are " + deviceRegisters + ":" + s.device
		}
		return do, err
	}
	if _, err := net.ParseSilence(s.silence); err != nil {
		return "give a time, or none", err
	}
	if _, err := net.ParseNetworks(s.networks); err != nil {
		return "give a list, as eth1,10.77.2.0/24,fd00::5, or none", err
	}
	if s.algorithms, err = coll.NewSelection(s.collectives); err != nil {
		return "see exanet info --collectives", fmt.Errorf("%s: %w", env.Coll, err)
	}
	return "", nil
}

// nodes are the paths of the devices that the ranks of a job share, in order.
func (s *settings) nodes() ([]string, error) {
	if s.path == itself {
		found, err := endpoint.Find()
		return []string{found}, err
	}
	return strings.Split(s.path, ","), nil
}

// checkDevice returns an error if the registers that a path leads to are none on this host. Whether there are free ones
// only a rank can say, which takes them.
func (s *settings) checkDevice() error {
	if s.path == "" {
		return nil
	}
	nodes, err := s.nodes()
	for _, path := range nodes {
		if err == nil {
			_, err = endpoint.Locate(path)
		}
	}
	if errors.Is(err, packetizer.ErrExhausted) {
		return nil
	}
	return err
}

// valueIn finds variables in an environment; of several values the last one counts.
func valueIn(environ []string) func(name string) string {
	set := make(map[string]string)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		set[name] = value
	}
	return func(name string) string { return set[name] }
}

// checkSettings is inside.Functions.CheckSettings.
func checkSettings(environ []string, here bool) error {
	get := valueIn(environ)
	s := settingsOf(get)
	if do, err := s.complete(); err != nil {
		return fmt.Errorf("%w; %s", err, do)
	}
	stats := statsNotFile
	if here {
		if err := s.checkDevice(); err != nil {
			return err
		}
		stats = statsFolder
	}
	if err := stats(get(env.Stats)); err != nil {
		return fmt.Errorf("%w; %s", err, chooseFolder)
	}
	return nil
}

const chooseFolder = "name a folder that can be written"

// statsFolder makes the folder that EXANET_STATS names, so that a program learns at
// its beginning and not at its end that there can be none.
func statsFolder(dir string) error {
	if dir == "" {
		return nil
	}
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = unix.Access(dir, unix.W_OK)
	}
	return statsError(dir, err)
}

// statsNotFile looks at what EXANET_STATS names on this host, where there need be nothing, for ranks on others.
func statsNotFile(dir string) error {
	f, err := os.Stat(dir)
	switch {
	case err == nil && !f.IsDir():
		return statsError(dir, errors.New("that is a file"))
	case errors.Is(err, unix.ENOTDIR):
		return statsError(dir, err)
	}
	return nil
}

func statsError(dir string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s=%s: %w", ErrStats, env.Stats, dir, err)
}
