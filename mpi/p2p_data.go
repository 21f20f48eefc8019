package mpi

import (
	"time"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/variants"
)

// The point-to-point calls for Data. What is said of the generic call with the
// same name holds for them, except for how the memory is described.

// SendData is Send for data of any layout (MPI_Send).
func (c *Comm) SendData(d Data, dest, tag int) error {
	return c.sendData("SendData", variants.Standard, d, dest, tag)
}

// SsendData is Ssend for data of any layout (MPI_Ssend).
func (c *Comm) SsendData(d Data, dest, tag int) error {
	return c.sendData("SsendData", variants.Synchronous, d, dest, tag)
}

// RsendData is Rsend for data of any layout (MPI_Rsend).
func (c *Comm) RsendData(d Data, dest, tag int) error {
	return c.sendData("RsendData", variants.Standard, d, dest, tag)
}

func (c *Comm) sendData(op string, mode variants.Mode, d Data, dest, tag int) error {
	if err := c.validData(op, &d, dest, tag, false); err != nil || dest == ProcNull {
		return err
	}
	k := c.rank
	if s := k.stats; s != nil {
		defer s.record(op, d.size(), time.Now())
	}
	k.mu.Lock()
	if mode == variants.Standard && !d.gaps() && k.proto.TrySend(c.p2p, int32(dest), int32(tag), d.buf) {
		c.lendOut(dest, tag)
		k.mu.Unlock()
		return nil
	}
	return c.sendAndWait(op, c.p2p, mode, d.memory, dest, tag)
}

// BsendData is Bsend for data of any layout (MPI_Bsend).
func (c *Comm) BsendData(d Data, dest, tag int) error {
	if err := c.validData("BsendData", &d, dest, tag, false); err != nil || dest == ProcNull {
		return err
	}
	return c.bsend("BsendData", d.memory, dest, tag)
}

// RecvData is Recv for data of any layout (MPI_Recv). What is between the data is
// left alone.
func (c *Comm) RecvData(d Data, source, tag int) (Status, error) {
	if err := c.validData("RecvData", &d, source, tag, true); err != nil {
		return Status{}, err
	}
	if source == ProcNull {
		return nullStatus, nil
	}
	if s := c.rank.stats; s != nil {
		defer s.record("RecvData", d.size(), time.Now())
	}
	c.rank.mu.Lock()
	if !d.gaps() {
		if st, ok := c.receiveNow(c.p2p, d.buf, source, tag); ok {
			return st, nil
		}
	}
	return c.recvAndWait("RecvData", c.p2p, d.memory, source, tag)
}

// SendrecvData is Sendrecv for data of any layout (MPI_Sendrecv).
func (c *Comm) SendrecvData(send Data, dest, sendTag int, recv Data, source, recvTag int) (Status, error) {
	if err := c.validPair("SendrecvData", &send, dest, sendTag, &recv, source, recvTag); err != nil {
		return Status{}, err
	}
	if s := c.rank.stats; s != nil {
		defer s.record("SendrecvData", send.size()+recv.size(), time.Now())
	}
	c.rank.mu.Lock()
	return c.exchange("SendrecvData", c.p2p, send.memory, dest, sendTag, recv.memory, source, recvTag)
}

// SendrecvReplaceData is SendrecvReplace for data of any layout
// (MPI_Sendrecv_replace).
func (c *Comm) SendrecvReplaceData(d Data, dest, sendTag, source, recvTag int) (Status, error) {
	if err := c.validPair("SendrecvReplaceData", &d, dest, sendTag, &d, source, recvTag); err != nil {
		return Status{}, err
	}
	if s := c.rank.stats; s != nil {
		defer s.record("SendrecvReplaceData", 2*d.size(), time.Now())
	}
	out := borrow[byte](c, d.size())
	defer giveBack(c, out)
	d.pack(out, 0)
	c.rank.mu.Lock()
	return c.exchange("SendrecvReplaceData", c.p2p, raw(out), dest, sendTag, d.memory, source, recvTag)
}

func (c *Comm) validPair(op string, send *Data, dest, sendTag int, recv *Data, source, recvTag int) error {
	if err := c.validData(op, send, dest, sendTag, false); err != nil {
		return err
	}
	return c.validData(op, recv, source, recvTag, true)
}

// IsendData is Isend for data of any layout (MPI_Isend).
func (c *Comm) IsendData(d Data, dest, tag int) (*Request, error) {
	return c.isendData("IsendData", variants.Standard, d, dest, tag)
}

// IssendData is Issend for data of any layout (MPI_Issend).
func (c *Comm) IssendData(d Data, dest, tag int) (*Request, error) {
	return c.isendData("IssendData", variants.Synchronous, d, dest, tag)
}

// IrsendData is Irsend for data of any layout (MPI_Irsend).
func (c *Comm) IrsendData(d Data, dest, tag int) (*Request, error) {
	return c.isendData("IrsendData", variants.Standard, d, dest, tag)
}

func (c *Comm) isendData(op string, mode variants.Mode, d Data, dest, tag int) (*Request, error) {
	if err := c.validData(op, &d, dest, tag, false); err != nil {
		return nil, err
	}
	return c.postSend(op, mode, d.memory, dest, tag), nil
}

// IbsendData is Ibsend for data of any layout (MPI_Ibsend).
func (c *Comm) IbsendData(d Data, dest, tag int) (*Request, error) {
	err := c.validData("IbsendData", &d, dest, tag, false)
	if err == nil && dest != ProcNull {
		err = c.bsend("IbsendData", d.memory, dest, tag)
	}
	if err != nil {
		return nil, err
	}
	return c.immediate("IbsendData"), nil
}

// IrecvData is Irecv for data of any layout (MPI_Irecv).
func (c *Comm) IrecvData(d Data, source, tag int) (*Request, error) {
	if err := c.validData("IrecvData", &d, source, tag, true); err != nil {
		return nil, err
	}
	return c.postRecv("IrecvData", d.memory, source, tag), nil
}

// IsendrecvData is Isendrecv for data of any layout (MPI_Isendrecv of MPI 4).
func (c *Comm) IsendrecvData(send Data, dest, sendTag int, recv Data, source, recvTag int) (*Request, error) {
	if err := c.validPair("IsendrecvData", &send, dest, sendTag, &recv, source, recvTag); err != nil {
		return nil, err
	}
	p := c.newPair("IsendrecvData", dest, sendTag, source, recvTag)
	p.out, p.in = send.memory, recv.memory
	return p.post(), nil
}

// IsendrecvReplaceData is IsendrecvReplace for data of any layout
// (MPI_Isendrecv_replace of MPI 4).
func (c *Comm) IsendrecvReplaceData(d Data, dest, sendTag, source, recvTag int) (*Request, error) {
	if err := c.validPair("IsendrecvReplaceData", &d, dest, sendTag, &d, source, recvTag); err != nil {
		return nil, err
	}
	p := c.newPair("IsendrecvReplaceData", dest, sendTag, source, recvTag)
	p.replace(d.memory)
	return p.post(), nil
}

// SendInitData is SendInit for data of any layout (MPI_Send_init).
func (c *Comm) SendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fixData("SendInitData", d, persistent{peer: dest, tag: tag})
}

// SsendInitData is SsendInit for data of any layout (MPI_Ssend_init).
func (c *Comm) SsendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fixData("SsendInitData", d, persistent{peer: dest, tag: tag, mode: variants.Synchronous})
}

// RsendInitData is RsendInit for data of any layout (MPI_Rsend_init).
func (c *Comm) RsendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fixData("RsendInitData", d, persistent{peer: dest, tag: tag})
}

// BsendInitData is BsendInit for data of any layout (MPI_Bsend_init).
func (c *Comm) BsendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fixData("BsendInitData", d, persistent{peer: dest, tag: tag, copy: true})
}

// RecvInitData is RecvInit for data of any layout (MPI_Recv_init).
func (c *Comm) RecvInitData(d Data, source, tag int) (*Request, error) {
	return c.fixData("RecvInitData", d, persistent{peer: source, tag: tag, recv: true})
}

func (c *Comm) fixData(op string, d Data, p persistent) (*Request, error) {
	if err := c.validData(op, &d, p.peer, p.tag, p.recv); err != nil {
		return nil, err
	}
	return c.fix(op, d.memory, p), nil
}

// RecvData is Mrecv for data of any layout (MPI_Mrecv).
func (m *Message) RecvData(d Data) (Status, error) {
	q, err := m.irecvData("Message.RecvData", d)
	if err != nil {
		return Status{}, err
	}
	return q.Wait()
}

// IrecvData is Imrecv for data of any layout (MPI_Imrecv).
func (m *Message) IrecvData(d Data) (*Request, error) { return m.irecvData("Message.IrecvData", d) }

func (m *Message) irecvData(op string, d Data) (*Request, error) {
	if m == nil || m.c == nil {
		return nil, (*Request)(nil).misuse(op, receivedBefore)
	}
	if err := m.c.before(op); err != nil {
		return nil, err
	}
	if d.err != nil {
		return nil, m.c.fail(op, noValue, noValue, noValue, d.err, "")
	}
	return m.post(op, d.memory)
}

// CountOf is the number of elements of type t in the message (MPI_Get_count), or
// -1 if it ends within one or t is nil.
func (s Status) CountOf(t *datatype.Type) int {
	if t == nil {
		return -1
	}
	return t.CountIn(s.bytes)
}

// Elements is the number of basic elements in a message of elements of type t
// (MPI_Get_elements), or -1 if it ends within one or t is nil.
func (s Status) Elements(t *datatype.Type) int {
	if t == nil {
		return -1
	}
	return t.ElementsIn(s.bytes)
}
