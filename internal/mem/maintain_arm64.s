#include "textflag.h"

// Linux lets programs use these instructions. The assembler has no names for them.
#define DC_CVAC_R0 WORD $0xd50b7a20
#define DC_CIVAC_R0 WORD $0xd50b7e20
#define SYSTEM $15 // of a barrier: for all, loads and stores

// func cleanLines(p *byte, n int)
TEXT ·cleanLines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R0, R1
	BIC  $63, R0
	DSB  SYSTEM
clean:
	DC_CVAC_R0
	ADD  $64, R0
	CMP  R1, R0
	BLO  clean
	DSB  SYSTEM
	RET

// func purgeLines(p *byte, n int)
TEXT ·purgeLines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R0, R1
	BIC  $63, R0
	DSB  SYSTEM
purge:
	DC_CIVAC_R0
	ADD  $64, R0
	CMP  R1, R0
	BLO  purge
	DSB  SYSTEM
	RET

// func cacheType() uint64
TEXT ·cacheType(SB), NOSPLIT, $0-8
	MRS  CTR_EL0, R0
	MOVD R0, ret+0(FP)
	RET
