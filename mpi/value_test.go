//go:build !optimistic

// The protocol optimistic allows neither probes, which RecvValue needs for encoded values, nor AnySource.

package mpi_test

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

type plainPair struct {
	A int32
	B float64
}

type record struct {
	Name  string
	Tags  []string
	Count map[string]int
	When  time.Time
	Next  *record
}

func someRecord(i int) record {
	return record{Name: fmt.Sprint("r", i), Tags: make([]string, i+1), Count: map[string]int{"a": i},
		When: time.Unix(int64(i), 0).UTC(), Next: &record{Name: "next"}}
}

// check compares what a call on values has returned.
func check[T any](want, got T, err error) error {
	if err == nil && !reflect.DeepEqual(want, got) {
		err = fmt.Errorf("want %+v, got %+v", want, got)
	}
	return err
}

// everyValue makes all calls on values of one type, with all roots.
func everyValue[T any](value func(i int) T) func(c *mpi.Comm) error {
	return func(c *mpi.Comm) error {
		me, n := c.Rank(), c.Size()
		all := make([]T, n)
		for i := range all {
			all[i] = value(i)
		}
		// All send first: rank 0, whose value is short, does not wait, and so receives what the last one sends.
		if err := mpi.SendValue(c, value(me), (me+1)%n, me); err != nil {
			return err
		}
		before := (me + n - 1) % n
		got, st, err := mpi.RecvValue[T](c, mpi.AnySource, mpi.AnyTag)
		if err == nil && (st.Source != before || st.Tag != before) {
			err = fmt.Errorf("status %+v", st)
		}
		err = check(value(before), got, err)
		for root := range n {
			var given T
			var several, gathered []T
			if me == root {
				given, several, gathered = value(root), all, all
			}
			got, e := mpi.BcastValue(c, given, root)
			err = errors.Join(err, check(value(root), got, e))
			got, e = mpi.ScatterValue(c, several, root)
			err = errors.Join(err, check(value(me), got, e))
			list, e := mpi.GatherValue(c, value(me), root)
			err = errors.Join(err, check(gathered, list, e))
		}
		list, e := mpi.AllgatherValue(c, value(me))
		return errors.Join(err, check(all, list, e))
	}
}

func TestValues(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		for name, main := range map[string]func(*mpi.Comm) error{
			"int":    everyValue(func(i int) int { return i * i }),
			"plain":  everyValue(func(i int) plainPair { return plainPair{int32(i), float64(i) / 2} }),
			"empty":  everyValue(func(int) struct{} { return struct{}{} }),
			"string": everyValue(func(i int) string { return fmt.Sprint("rank", i)[:min(i, 4)] }),
			"long":   everyValue(func(i int) []byte { return make([]byte, 100_000*i+1) }),
			"record": everyValue(someRecord),
			"big":    everyValue(func(i int) *big.Int { return new(big.Int).Lsh(big.NewInt(7), uint(100*i)) }),
			"any":    everyValue(func(i int) any { return i }),
			"nil":    everyValue(func(i int) *int { return nil }),
		} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) { require.NoError(t, mpi.Run(n, main)) })
		}
	}
}

func TestReductionsOfValues(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		require.NoError(t, mpi.Run(n, func(c *mpi.Comm) error {
			me := c.Rank()
			sum, err := mpi.AllreduceValue(c, me, mpi.Sum)
			err = check(n*(n-1)/2, sum, err)
			sum, e := mpi.ScanValue(c, me, mpi.Sum)
			err = errors.Join(err, check(me*(me+1)/2, sum, e))
			sum, e = mpi.ExscanValue(c, me, mpi.Sum)
			err = errors.Join(err, check(me*(me-1)/2, sum, e))
			for root := range n {
				want := 0.
				if me == root {
					want = float64(n - 1)
				}
				most, e := mpi.ReduceValue(c, float64(me), mpi.Max, root)
				err = errors.Join(err, check(want, most, e))
			}
			if _, e := mpi.AllreduceValue(c, "text", mpi.Sum); !errors.Is(e, mpi.ErrType) {
				err = errors.Join(err, fmt.Errorf("a sum of texts: %v", e))
			}
			return err
		}))
	}
}

// Where a value cannot be encoded, the ranks that depend on it get an error, and the next calls work.
func TestValuesThatCannotBeSent(t *testing.T) {
	const bad = 1
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		var v any = "fine"
		var several []any
		if c.Rank() == bad {
			v = func() {}
			several = []any{1, v, 3}
		}
		want := func(call string, fails bool, err error) error {
			if fails != errors.Is(err, mpi.ErrType) || fails != (err != nil) {
				return fmt.Errorf("%s: %v", call, err)
			}
			return nil
		}
		err := want("SendValue", c.Rank() == bad, mpi.SendValue(c, v, mpi.ProcNull, 0))
		_, e := mpi.BcastValue(c, v, bad)
		err = errors.Join(err, want("BcastValue", true, e))
		_, e = mpi.ScatterValue(c, several, bad)
		err = errors.Join(err, want("ScatterValue", true, e))
		_, e = mpi.AllgatherValue(c, v)
		err = errors.Join(err, want("AllgatherValue", true, e))
		_, e = mpi.GatherValue(c, v, 0)
		err = errors.Join(err, want("GatherValue", true, e))

		_, e = mpi.ScatterValue(c, []string{"one"}, bad)
		if class := mpi.ErrCount; c.Rank() == bad && !errors.Is(e, class) || e == nil {
			err = errors.Join(err, fmt.Errorf("one value for three ranks: %v", e))
		}
		list, e := mpi.AllgatherValue(c, "well")
		return errors.Join(err, check([]string{"well", "well", "well"}, list, e))
	}))
}

// A value that comes as another type than was sent is an error that says what to do.
func TestValuesOfAnotherType(t *testing.T) {
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return errors.Join(mpi.SendValue(c, int64(1), 1, 1), mpi.SendValue(c, int32(1), 1, 2),
				mpi.SendValue(c, 1, 1, 3), mpi.SendValue(c, "text", 1, 4), mpi.SendValue(c, 5, 1, 5))
		}
		var err error
		says := func(is, e error) {
			if v := (*mpi.Error)(nil); !errors.Is(e, is) || !errors.As(e, &v) || v.Do == "" || v.Op != "RecvValue" {
				err = errors.Join(err, fmt.Errorf("%w instead of %w", e, is))
			}
		}
		v, _, e := mpi.RecvValue[int32](c, 0, 1)
		says(mpi.ErrTruncate, e)
		w, _, e := mpi.RecvValue[int64](c, 0, 2)
		says(mpi.ErrCount, e)
		s, _, e := mpi.RecvValue[string](c, 0, 3)
		says(mpi.ErrType, e)
		l, _, e := mpi.RecvValue[map[string]int](c, 0, 4)
		says(mpi.ErrType, e)
		n, _, e := mpi.RecvValue[int](c, 0, 5) // nothing of those is left
		err = errors.Join(err, check(5, n, e))
		for _, zero := range []bool{v == 0, w == 0, s == "", l == nil} {
			if !zero {
				err = errors.Join(err, errors.New("a value came all the same"))
			}
		}
		text, st, e := mpi.RecvValue[string](c, mpi.ProcNull, 0)
		err = errors.Join(err, check("", text, e), check(mpi.ProcNull, st.Source, nil))
		n, st, e = mpi.RecvValue[int](c, mpi.ProcNull, 0)
		return errors.Join(err, check(0, n, e), check(mpi.ProcNull, st.Source, nil))
	}))
	_, _, err := mpi.RecvValue[string](nil, 0, 0)
	require.ErrorIs(t, err, mpi.ErrComm)
	_, err = mpi.ScatterValue(nil, []string{"x"}, mpi.Undefined)
	require.ErrorIs(t, err, mpi.ErrComm)
	_, err = mpi.GatherValue(nil, "x", mpi.Undefined)
	require.ErrorIs(t, err, mpi.ErrComm)
	for _, root := range []int{-1, 1} {
		require.ErrorIs(t, mpi.Run(1, func(c *mpi.Comm) error {
			_, err := mpi.GatherValue(c, "x", root)
			return err
		}), mpi.ErrRoot)
	}
}
