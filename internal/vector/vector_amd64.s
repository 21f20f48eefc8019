//go:build !race

#include "textflag.h"

// SSE2, which every amd64 has. The sum is in + inout in this order, as Go has it: it
// matters to which NaN comes out. 1<<shift elements are 64 bytes.
#define ADD(name, instruction, shift) \
TEXT name(SB), NOSPLIT, $0-56      \
	MOVQ in_base+0(FP), SI     \
	MOVQ in_len+8(FP), CX      \
	MOVQ inout_base+24(FP), DI \
	SHRQ $shift, CX            \
	MOVQ CX, AX                \
	SHLQ $shift, AX            \
	MOVQ AX, ret+48(FP)        \
	TESTQ CX, CX               \
	JZ done                    \
loop:                              \
	MOVUPS 0(SI), X0           \
	MOVUPS 16(SI), X1          \
	MOVUPS 32(SI), X2          \
	MOVUPS 48(SI), X3          \
	MOVUPS 0(DI), X4           \
	MOVUPS 16(DI), X5          \
	MOVUPS 32(DI), X6          \
	MOVUPS 48(DI), X7          \
	instruction X4, X0         \
	instruction X5, X1         \
	instruction X6, X2         \
	instruction X7, X3         \
	MOVUPS X0, 0(DI)           \
	MOVUPS X1, 16(DI)          \
	MOVUPS X2, 32(DI)          \
	MOVUPS X3, 48(DI)          \
	ADDQ $64, SI               \
	ADDQ $64, DI               \
	DECQ CX                    \
	JNZ loop                   \
done:                              \
	RET

// func addFloat32(in, inout []float32) int
ADD(·addFloat32, ADDPS, 4)

// func addFloat64(in, inout []float64) int
ADD(·addFloat64, ADDPD, 3)

// func addUint32(in, inout []uint32) int
ADD(·addUint32, PADDL, 4)

// func addUint64(in, inout []uint64) int
ADD(·addUint64, PADDQ, 3)
