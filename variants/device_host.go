//go:build hostfabric

package variants

import "github.com/exanet-mpi/exanet/emu/host"

// The build tag hostfabric pins the device: calls of it are direct then, and
// can be inlined. Packages that give protocols a device of their own, as
// variants/world does, need a build without it.
type (
	Device        = *host.Fabric
	ReadingDevice = *host.Fabric
	port          = *host.Fabric
	reader        = *host.Fabric
)

func readerOf(p port) reader { return p }
