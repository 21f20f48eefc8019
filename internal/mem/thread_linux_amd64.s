#include "textflag.h"

// func Thread() uint64
TEXT ·Thread(SB), NOSPLIT, $0-8
	// MOVQ FS:0, AX, where the address of the thread's block stands; the assembler has no name for it.
	BYTE $0x64; BYTE $0x48; BYTE $0x8b; BYTE $0x04; BYTE $0x25; LONG $0
	MOVQ AX, ret+0(FP)
	RET
