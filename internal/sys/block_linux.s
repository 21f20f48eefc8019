// Without an assembly file the compiler wants a body for each function of block_linux.go.
