//go:build !(linux || darwin || freebsd) || !(amd64 || arm64 || riscv64)

package platform

var _ = exanet_mpi_needs_linux_darwin_or_freebsd_on_amd64_arm64_or_riscv64
