package bringup

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// named says under which name the documents have a register of internal/mmio.
var named = map[string]string{
	"RegID": "Header/ID", "RegNode": "Header/NODE", "RegPDID": "Header/PDID", "RegIndex": "Header/INDEX",
	"RegCount": "Header/COUNT", "RegStride": "Header/STRIDE", "RegUnits": "Header/UNITS", "RegOffset": "Header/OFFSET",
	"RegOwner": "Header/OWNER", "RegWindow": "Memory/WINDOW", "RegWindowSize": "Memory/WINSIZE",
	"RegDRAM": "Memory/DRAM",
	"RegSend": "Packetizer/SEND", "WindowBase": "Packetizer/window", "WinData": "Packetizer/window/DATA",
	"WinSeq": "Packetizer/window/SEQ", "WinDest": "Packetizer/window/DEST", "WinDone": "Packetizer/window/DONE",
	"WinResult": "Packetizer/window/RESULT",
	"RegTail":   "Mailbox/TAIL", "RegRefused": "Mailbox/REFUSED", "RegHead": "Mailbox/HEAD",
	"SlotBase":  "Mailbox/message",
	"AgentData": "Agent/DATA", "AgentSrc": "Agent/SRC", "AgentDst": "Agent/DST",
	"AgentNotif": "Agent/NOTIF",
	"AgentBytes": "Agent/SIZE",
	"DescBase":   "RDMA/descriptor", "DescSrc": "RDMA/descriptor/SRC", "DescDst": "RDMA/descriptor/DST",
	"DescBytes": "RDMA/descriptor/SIZE", "DescNotif": "RDMA/descriptor/NOTIF", "DescData": "RDMA/descriptor/DATA",
	"DescSubmit": "RDMA/descriptor/SUBMIT", "DescDone": "RDMA/descriptor/DONE", "DescError": "RDMA/descriptor/ERROR",
	"DirPacketizer": "Software/PACKETIZERS", "DirMailbox": "Software/MAILBOXES", "DirChannel": "Software/CHANNELS",
	"DirBase": "Software/entry", "EntryState": "Software/entry/STATE", "EntryMailbox": "Software/entry/MAILBOX",
	"EntryOffset": "Software/entry/OFFSET",
	"CtxOwner":    "How/CTXOWNER", "CtxCount": "How/CTXCOUNT", "CtxPairs": "How/PAIR",
}

// steps are the distances of parts of a page.
var steps = map[string]string{"WindowSize": "Packetizer/window", "MessageSize": "Mailbox/message",
	"DescSize": "RDMA/descriptor", "DirSize": "Software/entry"}

// values are constants of the map that are no registers.
var values = "PageSize Windows Descriptors AgentIndex EntryEmpty EntryFilling EntryReady Version ChannelShift " +
	"MinWindow Pairs OK BadPDID BadRoute Gone Fault BadAlign"

// Every constant of the register map is in the documents, with the same offset.
func TestConstantsAreDocumented(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "../../internal/mmio/registers.go", nil, 0)
	require.NoError(t, err)
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	_, err = (&types.Config{Importer: importer.Default()}).Check("mmio", fset, []*ast.File{file}, info)
	require.NoError(t, err)
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	r, err := read(pages...)
	require.NoError(t, err)
	for ident, object := range info.Defs {
		c, ok := object.(*types.Const)
		if !ok {
			continue
		}
		name := ident.Name
		n, _ := constant.Int64Val(c.Val())
		switch {
		case named[name] != "":
			at, known := r.at[named[name]]
			require.True(t, known, "%s is not in the documents as %s", name, named[name])
			require.Equal(t, n, at, name)
		case steps[name] != "":
			require.Equal(t, n, r.step[steps[name]], name)
		default:
			require.True(t, strings.HasPrefix(name, "Kind") || strings.HasPrefix(name, "Flag") ||
				strings.Contains(" "+values+" ", " "+name+" "),
				"%s: name it in a table of the documents, and here", name)
		}
	}
}
