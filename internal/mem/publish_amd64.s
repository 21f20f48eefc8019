//go:build !race

#include "textflag.h"

// func publish(p *uint64, v uint64)
// A plain store: x86 keeps stores in order, which is all that release needs.
TEXT ·publish(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ v+8(FP), BX
	MOVQ BX, (AX)
	RET
