package mpi

import "time"

// WithFindings turns the checking mode on and has its findings.
func WithFindings(report func(line string)) Option {
	return func(s *settings) error {
		s.check, s.report = true, report
		return nil
	}
}

// WithPatience sets how long a rank waits before it looks for a deadlock.
func WithPatience(d time.Duration) Option {
	return func(s *settings) error {
		s.patience = d
		return nil
	}
}
