package mpi

// WithFindings turns the checking mode on and has its findings.
func WithFindings(report func(line string)) Option {
	return func(s *settings) error {
		s.check, s.report = true, report
		return nil
	}
}
