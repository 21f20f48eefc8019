package pmix

import (
	"bytes"
	"math"
	"unsafe"
)

// What goes to the library, as in pmix_common.h, and the same since PMIx 3. A test compares it with the header.

// status is a pmix_status_t.
type status int32

const success status = 0 // PMIX_SUCCESS

const (
	allRanks uint32 = math.MaxUint32 - 1 // PMIX_RANK_WILDCARD
	noRank   uint32 = math.MaxUint32     // PMIX_RANK_UNDEF

	toAll uint8 = 3 // PMIX_GLOBAL, a pmix_scope_t

	typeBool   uint16 = 1  // PMIX_BOOL, a pmix_data_type_t
	typeString uint16 = 3  // PMIX_STRING
	typeUint32 uint16 = 14 // PMIX_UINT32

	jobSize     = "pmix.job.size" // PMIX_JOB_SIZE
	collectData = "pmix.collect"  // PMIX_COLLECT_DATA
)

// process is a pmix_proc_t.
type process struct {
	space [256]byte // the job
	rank  uint32
}

// value is a pmix_value_t.
type value struct {
	kind uint16
	data union
}

// union has room for the largest of the many types of a value.
type union [3]uintptr

// info is a pmix_info_t.
type info struct {
	key   [512]byte
	flags uint32
	value value
}

// collect tells a fence to bring what has been put.
func collect() *info {
	i := &info{value: value{kind: typeBool}}
	copy(i.key[:], collectData)
	*(*bool)(unsafe.Pointer(&i.value.data)) = true
	return i
}

// text returns a string of C.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
