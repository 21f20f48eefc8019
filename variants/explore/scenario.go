package explore

// Scenario writes a failure as a scenario file (package variants/scenario).
func (f *Failure) Scenario(protocol string) string { return "" }
