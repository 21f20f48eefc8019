// Package net is Exanet between hosts: packetizer, mailbox and RDMA engine over TCP, beside
// the shared memory of the ranks of one host (emu/host).
//
//	Listener  how ranks find each other, and who is let in (meet.go), at which addresses (networks.go)
//	frame     what goes over a connection (frame_linux.go)
//	link      one connection: what is to be sent, what has come (link_linux.go)
//	Fabric    one rank's end: emu/host for the ranks of its host, a link to each other rank (fabric_linux.go),
//	          its RDMA engine (rdma_linux.go), how it waits for both (wait_linux.go), who is dead (silence_linux.go)
//	          and why (reason_linux.go), and how fast it sends (pace_linux.go)
//
// Each rank has a connection to every rank of other hosts. A message is a frame. An RDMA write is
// frames of up to 1 MiB: the writer's kernel takes them out of the source, and the reader puts
// them into the exposed buffer as it reads them, so neither end copies anything by itself. TCP keeps the order,
// and keeps a sender from what its receiver has no room for. A connection that ends is the death of
// the rank at its other end, unless that has said good-bye.
package net
