package pmix

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// name is that of the library since PMIx 2.
const name = "libpmix.so.2"

// library has the functions that are called.
type library struct {
	init        func(me *process, infos *info, n uintptr) status
	put         func(scope uint8, key string, v *value) status
	commit      func() status
	fence       func(who *process, n uintptr, infos *info, nInfos uintptr) status
	get         func(from *process, key string, infos *info, n uintptr, v **value) status
	finalize    func(infos *info, n uintptr) status
	abort       func(code int32, message string, who *process, n uintptr) status
	errorString func(status) string
	free        func(unsafe.Pointer) // the C library's
}

// load loads the library. Its plugins find its symbols, as in programs that are linked to it.
func load() (*library, error) {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	l := new(library)
	for symbol, f := range map[string]any{
		"PMIx_Init": &l.init, "PMIx_Put": &l.put, "PMIx_Commit": &l.commit, "PMIx_Fence": &l.fence, "PMIx_Get": &l.get,
		"PMIx_Finalize": &l.finalize, "PMIx_Abort": &l.abort, "PMIx_Error_string": &l.errorString, "free": &l.free,
	} {
		at, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return nil, fmt.Errorf("%s has no %s: %w", name, symbol, err)
		}
		purego.RegisterFunc(f, at)
	}
	return l, nil
}

// putString sets a key's value, of which the library keeps a copy.
func (l *library) putString(key, s string) status {
	b := append([]byte(s), 0)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&b[0])
	v := &value{kind: typeString}
	*(**byte)(unsafe.Pointer(&v.data)) = &b[0]
	return l.put(toAll, key, v)
}

// got is a value that the library has returned: a text or a number.
type got struct {
	text   string
	number uint32
}

const errType status = -1 // PMIX_ERROR, for a value that is neither

// getValue copies a key's value out of the library's memory, and frees this.
func (l *library) getValue(from *process, key string, to *got) status {
	var v *value
	if s := l.get(from, key, nil, 0, &v); s != success {
		return s
	}
	defer l.free(unsafe.Pointer(v))
	switch v.kind {
	case typeString:
		at := *(**byte)(unsafe.Pointer(&v.data))
		n := 0
		for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
			n++
		}
		to.text = strings.Clone(unsafe.String(at, n))
		l.free(unsafe.Pointer(at))
	case typeUint32:
		to.number = *(*uint32)(unsafe.Pointer(&v.data))
	default:
		return errType
	}
	return success
}
