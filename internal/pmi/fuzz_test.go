package pmi

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line is refused, or its fields make a line that is read as the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "\n", "cmd=get_result rc=0 msg=success value=12.abc\n", "cmd", "=x", "a=b=c",
		" a=  b=\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fields, err := parse(s)
		if err != nil {
			return
		}
		var words []string
		for name, value := range fields {
			words = append(words, name+"="+value)
		}
		again, err := parse(strings.Join(words, " "))
		require.NoError(t, err)
		require.Equal(t, fields, again)
	})
}

// A text in parts is refused, or it has the size that it says. Whatever is encoded comes back.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "0.", "0", "1.YQ", "3.YW,Jj", "3.,YWJj", "-1.", "99999999999999999999.", "1.YQYQ",
		"4.YW,,Jj"} {
		f.Add(s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, s string, b []byte) {
		parts := func(s string, n int) func(int) (string, error) {
			all := strings.SplitN(s, ",", n)
			return func(i int) (string, error) {
				if i >= len(all) {
					return "", errors.New("no more")
				}
				return all[i], nil
			}
		}
		if got, err := decode(parts(s, -1)); err == nil {
			require.LessOrEqual(t, len(got), MaxData)
			again, err := decode(parts(encode(got), 1))
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
		if len(b) <= MaxData {
			got, err := decode(parts(encode(b), 1))
			require.NoError(t, err)
			require.Equal(t, string(b), string(got))
		}
	})
}
