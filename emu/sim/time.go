package sim

import "time"

// Time is virtual time since the beginning of a simulation, in picoseconds: a byte
// takes half a nanosecond on the fastest link.
type Time int64

const (
	picosecond Time = 1
	nanosecond      = 1000 * picosecond
)

// never is later than everything.
const never Time = 1<<63 - 1

// Duration is t in the units of package time, rounded down to nanoseconds.
func (t Time) Duration() time.Duration { return time.Duration(t / nanosecond) }

// Nanoseconds is t as a number.
func (t Time) Nanoseconds() float64 { return float64(t) / float64(nanosecond) }

func fromDuration(d time.Duration) Time { return Time(d) * nanosecond }

// fromNanoseconds rounds to a picosecond.
func fromNanoseconds(ns float64) Time { return Time(ns*float64(nanosecond) + 0.5) }
