package mpi

import "context"

// Calls that can be abandoned. What a context that is done means for them is
// said at WaitContext.

// SendContext is Send that can be abandoned: when ctx is done it ends as WaitContext says, with an
// error that wraps that of ctx, unless the message was on its way.
func SendContext[T Element](ctx context.Context, c *Comm, buf []T, dest, tag int) error {
	q, err := Isend(c, buf, dest, tag)
	if err != nil {
		return err
	}
	_, err = q.waitContext(ctx, "SendContext")
	return err
}

// SsendContext is Ssend that can be abandoned, see SendContext.
func SsendContext[T Element](ctx context.Context, c *Comm, buf []T, dest, tag int) error {
	q, err := Issend(c, buf, dest, tag)
	if err != nil {
		return err
	}
	_, err = q.waitContext(ctx, "SsendContext")
	return err
}

// RecvContext is Recv that can be abandoned, see SendContext. If it was, buf is unchanged and no
// message is lost.
func RecvContext[T Element](ctx context.Context, c *Comm, buf []T, source, tag int) (Status, error) {
	q, err := Irecv(c, buf, source, tag)
	if err != nil {
		return Status{}, err
	}
	return q.waitContext(ctx, "RecvContext")
}
