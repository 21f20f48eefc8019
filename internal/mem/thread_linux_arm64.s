#include "textflag.h"

// func Thread() uint64
TEXT ·Thread(SB), NOSPLIT, $0-8
	MRS TPIDR_EL0, R0
	MOVD R0, ret+0(FP)
	RET
