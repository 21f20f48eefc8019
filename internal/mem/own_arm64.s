#include "textflag.h"

// func Own(p unsafe.Pointer)
TEXT ·Own(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	PRFM (R0), PSTL1KEEP
	RET
