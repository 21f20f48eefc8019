package mpi

import (
	"fmt"
	"sync/atomic"
)

// Keyval is a key of attributes, which programs and libraries attach to
// communicators (MPI_Comm_create_keyval). Make one with NewKeyval.
type Keyval struct {
	copy    CopyAttr
	remove  DeleteAttr
	predefd func(c *Comm) any // of predefined keys
	freed   atomic.Bool
}

// CopyAttr is called when a communicator that has the attribute is duplicated. It returns the value
// for the new communicator, or keep false if that is to have none. An error ends Dup and Idup, at all
// ranks. Then what Dup has copied already is given to the DeleteAttr functions, with the old
// communicator; what Idup has copied is dropped.
type CopyAttr func(old *Comm, value any) (copied any, keep bool, err error)

// DeleteAttr is called when an attribute is replaced or deleted, and when its
// communicator is freed; those of Self are deleted first of all in Finalize. An
// error ends the call.
type DeleteAttr func(c *Comm, value any) error

// CopyAlways is a CopyAttr that passes the value on (MPI_COMM_DUP_FN).
func CopyAlways(_ *Comm, value any) (any, bool, error) { return value, true, nil }

// NewKeyval makes a key. Either function may be nil: without the first the
// attribute is not copied, without the second nothing happens when it goes.
func NewKeyval(copy CopyAttr, remove DeleteAttr) *Keyval {
	return &Keyval{copy: copy, remove: remove}
}

// Free gives the key up (MPI_Comm_free_keyval). Attributes that exist stay, and
// are still copied and deleted; they can not be set any more.
func (v *Keyval) Free() {
	if v != nil {
		v.freed.Store(true)
	}
}

// The predefined keys. Their attributes are on every communicator and can not be
// set.
var (
	// TagUB: the largest tag, an int (MPI_TAG_UB).
	TagUB = predefined(func(*Comm) any { return MaxTag })
	// UniverseSize: the number of processes of the job, an int
	// (MPI_UNIVERSE_SIZE).
	UniverseSize = predefined(func(c *Comm) any { return c.rank.fab.Size() })
	// WtimeIsGlobal: whether the clocks of all ranks agree, a bool
	// (MPI_WTIME_IS_GLOBAL): those of one host.
	WtimeIsGlobal = predefined(func(c *Comm) any { return c.onOneHost() })
	// Host: the rank of the host process, an int: there is none, so ProcNull
	// (MPI_HOST).
	Host = predefined(func(*Comm) any { return ProcNull })
	// IO: a rank that can do input and output, an int: all can, so AnySource
	// (MPI_IO).
	IO = predefined(func(*Comm) any { return AnySource })
	// AppNum: the number of the program in the job, an int (MPI_APPNUM).
	AppNum = predefined(func(*Comm) any { return 0 })
)

func predefined(f func(*Comm) any) *Keyval { return &Keyval{predefd: f} }

// attr is an attribute of a communicator.
type attr struct {
	key   *Keyval
	value any
}

// Attr returns an attribute of the communicator, and whether it has it
// (MPI_Comm_get_attr).
func (c *Comm) Attr(v *Keyval) (value any, found bool, err error) {
	if err := c.usable("Attr"); err != nil {
		return nil, false, err
	}
	if v == nil {
		return nil, false, c.badKey("Attr", "nil")
	}
	if v.predefd != nil {
		return v.predefd(c), true, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.attrIndex(v); i >= 0 {
		return c.attrs[i].value, true, nil
	}
	return nil, false, nil
}

// SetAttr attaches an attribute, after it has deleted the one that is there
// (MPI_Comm_set_attr).
func (c *Comm) SetAttr(v *Keyval, value any) error {
	if err := c.settable("SetAttr", v); err != nil {
		return err
	}
	if v.freed.Load() {
		return c.badKey("SetAttr", "it has been freed")
	}
	if err := c.removeAttr("SetAttr", v); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attrs = append(c.attrs, attr{v, value})
	return nil
}

// DeleteAttr deletes an attribute, if it is there (MPI_Comm_delete_attr).
func (c *Comm) DeleteAttr(v *Keyval) error {
	if err := c.settable("DeleteAttr", v); err != nil {
		return err
	}
	return c.removeAttr("DeleteAttr", v)
}

func (c *Comm) settable(op string, v *Keyval) error {
	if err := c.usable(op); err != nil {
		return err
	}
	switch {
	case v == nil:
		return c.badKey(op, "nil")
	case v.predefd != nil:
		return c.badKey(op, "it is predefined")
	}
	return nil
}

func (c *Comm) badKey(op, why string) error {
	return c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: %s", ErrKeyval, why),
		"use one that NewKeyval has made")
}

// attrIndex returns where an attribute is, -1 if the communicator has it not.
func (c *Comm) attrIndex(v *Keyval) int {
	for i, a := range c.attrs {
		if a.key == v {
			return i
		}
	}
	return -1
}

// removeAttr calls the delete function and removes the attribute. Functions of
// the program are called without a lock: they may make calls.
func (c *Comm) removeAttr(op string, v *Keyval) error {
	c.mu.Lock()
	i := c.attrIndex(v)
	var value any
	if i >= 0 {
		value = c.attrs[i].value
	}
	c.mu.Unlock()
	if i < 0 {
		return nil
	}
	if v.remove != nil {
		if err := v.remove(c, value); err != nil {
			return c.fail(op, noValue, noValue, noValue, fmt.Errorf("an attribute refuses to go: %w", err), "")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i = c.attrIndex(v); i >= 0 {
		c.attrs = append(c.attrs[:i], c.attrs[i+1:]...)
	}
	return nil
}

// deleteAttrs deletes all attributes, the last that was set first.
func (c *Comm) deleteAttrs(op string) error {
	for {
		c.mu.Lock()
		n := len(c.attrs)
		var v *Keyval
		if n > 0 {
			v = c.attrs[n-1].key
		}
		c.mu.Unlock()
		if n == 0 {
			return nil
		}
		if err := c.removeAttr(op, v); err != nil {
			return err
		}
	}
}

// copyAttrs returns the attributes of a duplicate, those before the one that
// refuses if there is an error.
func (c *Comm) copyAttrs(op string) (copied []attr, err error) {
	c.mu.Lock()
	from := append([]attr(nil), c.attrs...)
	c.mu.Unlock()
	for _, a := range from {
		if a.key.copy == nil {
			continue
		}
		value, keep, err := a.key.copy(c, a.value)
		if err != nil {
			return copied, c.fail(op, noValue, noValue, noValue,
				fmt.Errorf("an attribute refuses to be copied: %w", err), "")
		}
		if keep {
			copied = append(copied, attr{a.key, value})
		}
	}
	return copied, nil
}
