//go:build !race

package mem

// amd is whether the processor is AMD's.
var amd = maker() == "AuthenticAMD"

func maker() string {
	name := make([]byte, 0, 12)
	for _, r := range cpuid0() {
		name = append(name, byte(r), byte(r>>8), byte(r>>16), byte(r>>24))
	}
	return string(name)
}

// cpuid0 returns EBX, EDX and ECX of CPUID's leaf 0: who has made the processor.
func cpuid0() [3]uint32
