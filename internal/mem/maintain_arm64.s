#include "textflag.h"

// Linux lets programs use these instructions.
#define DC_CVAC_R0 DC CVAC, R0
#define DC_CIVAC_R0 DC CIVAC, R0

// For the lines of n bytes from p, between barriers for all loads and stores.
#define LINES(instruction) \
	MOVD p+0(FP), R0; \
	MOVD n+8(FP), R1; \
	ADD  R0, R1; \
	BIC  $63, R0; \
	DSB  $15; \
line: \
	instruction; \
	ADD  $64, R0; \
	CMP  R1, R0; \
	BLO  line; \
	DSB  $15; \
	RET

// func cleanLines(p *byte, n int)
TEXT ·cleanLines(SB), NOSPLIT, $0-16
	LINES(DC_CVAC_R0)

// func purgeLines(p *byte, n int)
TEXT ·purgeLines(SB), NOSPLIT, $0-16
	LINES(DC_CIVAC_R0)

// func cacheType() uint64
TEXT ·cacheType(SB), NOSPLIT, $0-8
	MRS  CTR_EL0, R0
	MOVD R0, ret+0(FP)
	RET
