package launch_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { roles["layout"] = layoutRole }

// layoutRole plays ping-pong between two ranks with messages of TOTAL bytes in
// blocks of BLOCK that lie twice their length apart, HOW is "data", "pack" (packed by
// the program, sent as bytes, unpacked by the program), or "contiguous". Rank 0
// prints half the round trip in nanoseconds.
func layoutRole(args []string) int {
	how := args[0]
	total, _ := strconv.Atoi(args[1])
	block, _ := strconv.Atoi(args[2])
	world, err := mpi.Init()
	if err != nil {
		panic(err)
	}
	t, err := datatype.Hvector(total/block, block, 2*block, datatype.Byte)
	if err != nil {
		panic(err)
	}
	memory, flat := make([]byte, 2*total), make([]byte, total)
	d := mpi.With(memory, 1, t)
	other := 1 - world.Rank()
	send := func() error {
		switch how {
		case "data":
			return world.SendData(d, other, 0)
		case "pack":
			if _, err := mpi.Pack(d, flat, 0); err != nil {
				return err
			}
		}
		return mpi.Send(world, flat, other, 0)
	}
	recv := func() error {
		if how == "data" {
			_, err := world.RecvData(d, other, 0)
			return err
		}
		if _, err := mpi.Recv(world, flat, other, 0); err != nil || how != "pack" {
			return err
		}
		_, err := mpi.Unpack(flat, 0, d)
		return err
	}
	iterations := 200 + 20_000_000/total
	var start time.Time
	for i := range iterations + iterations/10 {
		if i == iterations/10 {
			start = time.Now()
		}
		if world.Rank() == 0 {
			err = send()
		}
		if err == nil {
			err = recv()
		}
		if err == nil && world.Rank() == 1 {
			err = send()
		}
		if err != nil {
			panic(err)
		}
	}
	if world.Rank() == 0 {
		fmt.Println(time.Since(start).Nanoseconds() / int64(2*iterations))
	}
	if err := mpi.Finalize(); err != nil {
		panic(err)
	}
	return 0
}

// BenchmarkLayouts compares messages with gaps, sent as such, to the same packed by
// the program, and to contiguous ones. The time of a message is in us/message; run it
// with -benchtime 1x.
func BenchmarkLayouts(b *testing.B) {
	for _, total := range []int{64 << 10, 1 << 20} {
		for _, block := range []int{8, 64, 512, 1024, 2048, 4096} {
			for _, how := range []string{"data", "pack", "contiguous"} {
				b.Run(fmt.Sprintf("%d/%d/%s", total, block, how), func(b *testing.B) {
					var best float64
					for range b.N {
						best = layoutTime(b, how, total, block)
					}
					b.ReportMetric(best/1000, "us/message")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

func layoutTime(b *testing.B, how string, total, block int) float64 {
	var out bytes.Buffer
	b.Setenv(roleVar, "layout")
	j, err := launch.Start(context.Background(), launch.Config{
		Ranks: 2, Prog: "/proc/self/exe", Args: []string{how, strconv.Itoa(total), strconv.Itoa(block)},
		Stdout: &out, Stderr: os.Stderr,
	})
	if err == nil {
		err = j.Wait()
	}
	if err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64)
	if err != nil {
		b.Fatal(err)
	}
	return ns
}
