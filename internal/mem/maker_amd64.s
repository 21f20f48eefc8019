//go:build !race

#include "textflag.h"

// func cpuid0() [3]uint32
TEXT ·cpuid0(SB), NOSPLIT, $0-12
	XORL AX, AX
	XORL CX, CX
	CPUID
	MOVL BX, ret_0+0(FP)
	MOVL DX, ret_1+4(FP)
	MOVL CX, ret_2+8(FP)
	RET
