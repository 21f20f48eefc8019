package pmix

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What goes to the library is laid out as in its header.
func TestLayout(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("there is no C compiler: %v", err)
	}
	flags, err := exec.Command("pkg-config", "--cflags", "pmix").Output()
	if err != nil {
		t.Skipf("pkg-config does not know pmix: %v", err)
	}
	var p process
	var v value
	var i info
	var source, want strings.Builder
	source.WriteString("#include <pmix.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n")
	compare := func(expression string, ours uint64) {
		fmt.Fprintf(&source, "printf(\"%%s %%lu\\n\", %q, (unsigned long)(%s));\n", expression, expression)
		fmt.Fprintln(&want, expression, ours)
	}
	for _, c := range []struct {
		expression string
		ours       uintptr
	}{
		{"sizeof(pmix_proc_t)", unsafe.Sizeof(p)},
		{"offsetof(pmix_proc_t, rank)", unsafe.Offsetof(p.rank)},
		{"sizeof(pmix_rank_t)", unsafe.Sizeof(p.rank)},
		{"sizeof(pmix_value_t)", unsafe.Sizeof(v)},
		{"offsetof(pmix_value_t, data)", unsafe.Offsetof(v.data)},
		{"sizeof(pmix_data_type_t)", unsafe.Sizeof(v.kind)},
		{"sizeof(pmix_info_t)", unsafe.Sizeof(i)},
		{"offsetof(pmix_info_t, flags)", unsafe.Offsetof(i.flags)},
		{"offsetof(pmix_info_t, value)", unsafe.Offsetof(i.value)},
		{"sizeof(pmix_status_t)", unsafe.Sizeof(success)},
		{"sizeof(pmix_scope_t)", unsafe.Sizeof(toAll)},
	} {
		compare(c.expression, uint64(c.ours))
	}
	for _, c := range []struct {
		name string
		ours uint64
	}{
		{"PMIX_SUCCESS", uint64(success)}, {"PMIX_RANK_WILDCARD", uint64(allRanks)},
		{"PMIX_RANK_UNDEF", uint64(noRank)}, {"PMIX_GLOBAL", uint64(toAll)},
		{"PMIX_BOOL", uint64(typeBool)}, {"PMIX_STRING", uint64(typeString)},
		{"PMIX_UINT32", uint64(typeUint32)}, {"PMIX_ERROR + 2", uint64(errType + 2)},
	} {
		compare(c.name, c.ours)
	}
	source.WriteString("puts(PMIX_JOB_SIZE); puts(PMIX_COLLECT_DATA);\nreturn 0;\n}\n")
	fmt.Fprintln(&want, jobSize)
	fmt.Fprintln(&want, collectData)

	dir := t.TempDir()
	file, program := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	require.NoError(t, os.WriteFile(file, []byte(source.String()), 0o600))
	out, err := exec.Command(cc, append(strings.Fields(string(flags)), "-o", program, file)...).CombinedOutput()
	require.NoError(t, err, string(out))
	got, err := exec.Command(program).Output()
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got))
}
