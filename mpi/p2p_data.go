package mpi

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/variants"
)

// The point-to-point calls for Data. What is said of the generic call with the
// same name holds for them, except for how the memory is described.

// SendData is Send for data of any layout (MPI_Send).
func (c *Comm) SendData(d Data, dest, tag int) error {
	return c.send("SendData", variants.Standard, &d.parcel, dest, tag)
}

// SsendData is Ssend for data of any layout (MPI_Ssend).
func (c *Comm) SsendData(d Data, dest, tag int) error {
	return c.send("SsendData", variants.Synchronous, &d.parcel, dest, tag)
}

// RsendData is Rsend for data of any layout (MPI_Rsend).
func (c *Comm) RsendData(d Data, dest, tag int) error {
	return c.send("RsendData", variants.Standard, &d.parcel, dest, tag)
}

// BsendData is Bsend for data of any layout (MPI_Bsend).
func (c *Comm) BsendData(d Data, dest, tag int) error {
	return c.bsend("BsendData", d.parcel, dest, tag)
}

// RecvData is Recv for data of any layout (MPI_Recv). What is between the data is
// left alone.
func (c *Comm) RecvData(d Data, source, tag int) (Status, error) {
	return c.recv("RecvData", &d.parcel, source, tag)
}

// SendrecvData is Sendrecv for data of any layout (MPI_Sendrecv).
func (c *Comm) SendrecvData(send Data, dest, sendTag int, recv Data, source, recvTag int) (Status, error) {
	return c.sendrecv("SendrecvData", send.parcel, dest, sendTag, recv.parcel, source, recvTag)
}

// SendrecvReplaceData is SendrecvReplace for data of any layout
// (MPI_Sendrecv_replace).
func (c *Comm) SendrecvReplaceData(d Data, dest, sendTag, source, recvTag int) (Status, error) {
	return c.sendrecvReplace("SendrecvReplaceData", d.parcel, dest, sendTag, source, recvTag)
}

// IsendData is Isend for data of any layout (MPI_Isend).
func (c *Comm) IsendData(d Data, dest, tag int) (*Request, error) {
	return c.postSend("IsendData", variants.Standard, &d.parcel, dest, tag)
}

// IssendData is Issend for data of any layout (MPI_Issend).
func (c *Comm) IssendData(d Data, dest, tag int) (*Request, error) {
	return c.postSend("IssendData", variants.Synchronous, &d.parcel, dest, tag)
}

// IrsendData is Irsend for data of any layout (MPI_Irsend).
func (c *Comm) IrsendData(d Data, dest, tag int) (*Request, error) {
	return c.postSend("IrsendData", variants.Standard, &d.parcel, dest, tag)
}

// IbsendData is Ibsend for data of any layout (MPI_Ibsend).
func (c *Comm) IbsendData(d Data, dest, tag int) (*Request, error) {
	return c.ibsend("IbsendData", d.parcel, dest, tag)
}

// IrecvData is Irecv for data of any layout (MPI_Irecv).
func (c *Comm) IrecvData(d Data, source, tag int) (*Request, error) {
	return c.postRecv("IrecvData", &d.parcel, source, tag)
}

// IsendrecvData is Isendrecv for data of any layout (MPI_Isendrecv of MPI 4).
func (c *Comm) IsendrecvData(send Data, dest, sendTag int, recv Data, source, recvTag int) (*Request, error) {
	return c.isendrecv("IsendrecvData", send.parcel, dest, sendTag, recv.parcel, source, recvTag)
}

// IsendrecvReplaceData is IsendrecvReplace for data of any layout
// (MPI_Isendrecv_replace of MPI 4).
func (c *Comm) IsendrecvReplaceData(d Data, dest, sendTag, source, recvTag int) (*Request, error) {
	return c.isendrecvReplace("IsendrecvReplaceData", d.parcel, dest, sendTag, source, recvTag)
}

// SendInitData is SendInit for data of any layout (MPI_Send_init).
func (c *Comm) SendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fix("SendInitData", d.parcel, persistent{peer: dest, tag: tag})
}

// SsendInitData is SsendInit for data of any layout (MPI_Ssend_init).
func (c *Comm) SsendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fix("SsendInitData", d.parcel, persistent{peer: dest, tag: tag, mode: variants.Synchronous})
}

// RsendInitData is RsendInit for data of any layout (MPI_Rsend_init).
func (c *Comm) RsendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fix("RsendInitData", d.parcel, persistent{peer: dest, tag: tag})
}

// BsendInitData is BsendInit for data of any layout (MPI_Bsend_init).
func (c *Comm) BsendInitData(d Data, dest, tag int) (*Request, error) {
	return c.fix("BsendInitData", d.parcel, persistent{peer: dest, tag: tag, copy: true})
}

// RecvInitData is RecvInit for data of any layout (MPI_Recv_init).
func (c *Comm) RecvInitData(d Data, source, tag int) (*Request, error) {
	return c.fix("RecvInitData", d.parcel, persistent{peer: source, tag: tag, recv: true})
}

// RecvData is Mrecv for data of any layout (MPI_Mrecv).
func (m *Message) RecvData(d Data) (Status, error) { return m.receive("Message.RecvData", d.parcel) }

// IrecvData is Imrecv for data of any layout (MPI_Imrecv).
func (m *Message) IrecvData(d Data) (*Request, error) { return m.post("Message.IrecvData", d.parcel) }

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
