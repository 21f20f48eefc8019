package mpi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/env"
)

// The checking mode is switched by 1 and 0. Anything else would be a guess at what was meant.
func TestTheSwitchOfTheCheckingMode(t *testing.T) {
	for value, on := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv(env.Check, value)
		s, err := options(nil)
		require.NoError(t, err, value)
		require.Equal(t, on, s.check, value)
	}
	for _, value := range []string{"yes", "true", "on", "no", "off", "2", " 1"} {
		t.Setenv(env.Check, value)
		_, err := options(nil)
		require.ErrorIs(t, err, ErrInit)
		require.ErrorContains(t, err, env.Check+"="+value)
		require.ErrorContains(t, err, "give 1, or 0")
		require.ErrorContains(t, checkSettings([]string{env.Check + "=" + value}, false), "give 1, or 0")
	}
}

// Of several paths none may be empty.
func TestAnEmptyPathOfADevice(t *testing.T) {
	for _, list := range []string{",", "a,", ",a", "a,,b"} {
		err := checkSettings([]string{env.Device + "=registers:" + list}, false)
		require.ErrorContains(t, err, "a path is empty in the device registers:"+list+"; give paths with commas")
	}
	require.NoError(t, checkSettings([]string{env.Device + "=registers:"}, false))
}

// Which devices are within one host, if somebody asks for them.
func TestDevicesWithinOneHost(t *testing.T) {
	for device, within := range map[string]string{"": "", "host": "host", "prototype": "prototype", "network": "",
		"registers:/dev/exanet0": "", "registers:": "", "registers:/proc/7/fd/3,/proc/7/fd/4": "registers"} {
		_, got, err := profile(WithDevice(device))
		require.NoError(t, err, device)
		require.Equal(t, within, got, device)
	}
}

// Who starts ranks by hand is told what exanet run does besides.
func TestARankWithoutAJob(t *testing.T) {
	t.Setenv(env.Rank, "0")
	_, err := join(&settings{device: deviceNetwork})
	require.EqualError(t, err, "EXANET_RANK is set, and EXANET_JOB is not: exanet run sets both; ranks that something "+
		"else starts need EXANET_DEVICE=registers:PATH")
}

// A process knows that it is not rank 0 if its launcher has told it.
func TestFirstRank(t *testing.T) {
	require.True(t, firstRank())
	for _, name := range rankVariables {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1")
			require.False(t, firstRank())
			t.Setenv(name, "0")
			require.True(t, firstRank())
		})
	}
}
