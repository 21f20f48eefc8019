//go:build linux && !portable

// Without an assembly file the compiler wants a body for each function of park_linux.go.
