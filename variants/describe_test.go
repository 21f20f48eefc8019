package variants_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants"
)

func TestDescribe(t *testing.T) {
	coll := &variants.Context{Tags: []string{"Barrier"}}
	for want, r := range map[string]variants.Request{
		"send to rank 3, tag 7, 5 bytes": {Peer: 3, Tag: 7, Ctx: new(variants.Context)},
		"receive from any source, any tag, 5 bytes": {Recv: true, Peer: variants.AnySource,
			Tag: variants.AnyTag, Ctx: new(variants.Context)},
		"Barrier: receive from rank 1, 5 bytes":               {Recv: true, Peer: 1, Ctx: coll},
		"making a communicator: send to rank 2, 5 bytes":      {Peer: 2, Tag: -2, Ctx: coll},
		"making a communicator: receive from rank 0, 5 bytes": {Recv: true, Tag: -1 << 31, Ctx: coll},
	} {
		r.Buf = make([]byte, 5)
		require.Equal(t, want, variants.Describe(&r))
	}
}
