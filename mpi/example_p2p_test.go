package mpi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// run is mpi.Run of an example: two ranks.
func run(main func(c *mpi.Comm) error) {
	if err := mpi.Run(2, main); err != nil {
		log.Fatal(err)
	}
}

func ExampleSend() {
	run(func(c *mpi.Comm) error {
		const tag = 1
		if c.Rank() == 0 {
			return mpi.Send(c, []float64{1, 2, 3}, 1, tag)
		}
		buf := make([]float64, 10)
		st, err := mpi.Recv(c, buf, 0, mpi.AnyTag)
		if err != nil {
			return err
		}
		fmt.Println("from rank", st.Source, "with tag", st.Tag, "came", buf[:mpi.Count[float64](st)])
		return nil
	})
	// Output: from rank 0 with tag 1 came [1 2 3]
}

// A synchronous send returns when the receive has been posted; a ready send
// says that it has been.
func ExampleSsend() {
	run(func(c *mpi.Comm) error {
		buf := make([]byte, 5)
		if c.Rank() == 0 {
			if err := mpi.Ssend(c, []byte("ssend"), 1, 0); err != nil {
				return err
			}
			return mpi.Rsend(c, []byte("rsend"), 1, 1)
		}
		ready, err := mpi.Irecv(c, make([]byte, 5), 0, 1)
		if err != nil {
			return err
		}
		if _, err := mpi.Recv(c, buf, 0, 0); err != nil {
			return err
		}
		fmt.Println(string(buf))
		_, err = ready.Wait()
		return err
	})
	// Output: ssend
}

// Several messages at once, in both directions.
func ExampleIsend() {
	run(func(c *mpi.Comm) error {
		peer := 1 - c.Rank()
		in, out := make([]int, 3), []int{10 * c.Rank(), 10*c.Rank() + 1, 10*c.Rank() + 2}
		var reqs []*mpi.Request
		for i := range in {
			r, err := mpi.Irecv(c, in[i:i+1], peer, i)
			if err != nil {
				return err
			}
			s, err := mpi.Isend(c, out[i:i+1], peer, i)
			if err != nil {
				return err
			}
			reqs = append(reqs, r, s)
		}
		if err := mpi.WaitAll(reqs...); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(in)
		}
		return nil
	})
	// Output: [10 11 12]
}

// Each rank passes a value on to the next.
func ExampleSendrecv() {
	run(func(c *mpi.Comm) error {
		next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		in := []int{0}
		if _, err := mpi.Sendrecv(c, []int{c.Rank()}, next, 0, in, before, 0); err != nil {
			return err
		}
		// And gets it back, into the place where it came from.
		if _, err := mpi.SendrecvReplace(c, in, before, 1, next, 1); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(in)
		}
		return nil
	})
	// Output: [1]
}

// An exchange that goes on in the background.
func ExampleIsendrecv() {
	run(func(c *mpi.Comm) error {
		peer := 1 - c.Rank()
		in := make([]word, 1)
		q, err := mpi.Isendrecv(c, []word{{'h', 'i', ' ', byte('0' + peer)}}, peer, 0, in, peer, 0)
		if err != nil {
			return err
		}
		// ... compute ...
		if _, err := q.Wait(); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(string(in[0][:]))
		}
		return nil
	})
	// Output: hi 1
}

// word is an element: arrays and structs without pointers may be.
type word [4]byte

// The same message again and again: made once, started often.
func ExampleSendInit() {
	run(func(c *mpi.Comm) error {
		buf := make([]int, 1)
		init := mpi.SendInit[int]
		if c.Rank() == 1 {
			init = mpi.RecvInit[int]
		}
		q, err := init(c, buf, 1-c.Rank(), 0)
		if err != nil {
			return err
		}
		for i := range 3 {
			if c.Rank() == 0 {
				buf[0] = i * i
			}
			if err := q.Start(); err != nil {
				return err
			}
			if _, err := q.Wait(); err != nil {
				return err
			}
			if c.Rank() == 1 {
				fmt.Print(buf[0], " ")
			}
		}
		return q.Free()
	})
	// Output: 0 1 4
}

// Messages are dealt with as they come.
func ExampleWaitAny() {
	err := mpi.Run(4, func(c *mpi.Comm) error {
		if c.Rank() > 0 {
			return mpi.Send(c, []int{c.Rank()}, 0, 0)
		}
		in, sum := make([]int, c.Size()), 0
		reqs := make([]*mpi.Request, c.Size()) // that of rank 0 stays nil
		for i := 1; i < c.Size(); i++ {
			var err error
			if reqs[i], err = mpi.Irecv(c, in[i:i+1], i, 0); err != nil {
				return err
			}
		}
		for {
			i, _, err := mpi.WaitAny(reqs...)
			if err != nil {
				return err
			}
			if i < 0 { // none is left
				break
			}
			sum += in[i]
		}
		fmt.Println(sum)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 6
}

func ExampleWaitSome() {
	run(func(c *mpi.Comm) error {
		reqs := make([]*mpi.Request, 8)
		in := make([]int, len(reqs))
		for i := range reqs {
			var err error
			if c.Rank() == 0 {
				reqs[i], err = mpi.Isend(c, []int{i}, 1, i)
			} else {
				reqs[i], err = mpi.Irecv(c, in[i:i+1], 0, i)
			}
			if err != nil {
				return err
			}
		}
		var done []mpi.Completion // its memory is used again
		for left := len(reqs); left > 0; left -= len(done) {
			var err error
			if done, err = mpi.WaitSome(done[:0], reqs...); err != nil {
				return err
			}
		}
		if c.Rank() == 1 {
			fmt.Println(in)
		}
		return nil
	})
	// Output: [0 1 2 3 4 5 6 7]
}

// Work goes on until the message is there.
func ExampleRequest_Test() {
	run(func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []byte("done"), 1, 0)
		}
		buf := make([]byte, 4)
		q, err := mpi.Irecv(c, buf, 0, 0)
		if err != nil {
			return err
		}
		for {
			done, st, err := q.Test()
			if err != nil {
				return err
			}
			if done {
				fmt.Println(string(buf), st.Bytes())
				return nil
			}
			// ... work ...
		}
	})
	// Output: done 4
}

func ExampleTestAll() {
	run(func(c *mpi.Comm) error {
		peer := 1 - c.Rank()
		in := make([]int, 1)
		r, err := mpi.Irecv(c, in, peer, 0)
		if err != nil {
			return err
		}
		s, err := mpi.Isend(c, []int{c.Rank()}, peer, 0)
		if err != nil {
			return err
		}
		for done := false; !done; {
			if done, err = mpi.TestAll(r, s); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			fmt.Println(in)
		}
		return nil
	})
	// Output: [1]
}

// What cannot leave at once is kept in the attached buffer.
func ExampleComm_AttachBuffer() {
	run(func(c *mpi.Comm) error {
		const n = 1 << 16
		if c.Rank() == 1 {
			_, err := mpi.Recv(c, make([]byte, n), 0, 0)
			return err
		}
		if err := c.AttachBuffer(n + mpi.BsendOverhead); err != nil {
			return err
		}
		if err := mpi.Bsend(c, make([]byte, n), 1, 0); err != nil {
			return err
		}
		size, err := c.DetachBuffer() // when the message has left
		fmt.Println(size == n+mpi.BsendOverhead)
		return err
	})
	// Output: true
}

func ExampleRequest_Cancel() {
	run(func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return nil // sends nothing
		}
		q, err := mpi.Irecv(c, make([]int, 1), 0, 0)
		if err != nil {
			return err
		}
		if err := q.Cancel(); err != nil {
			return err
		}
		st, err := q.Wait()
		fmt.Println("cancelled:", st.Cancelled())
		return err
	})
	// Output: cancelled: true
}

// A receive that is given up after a while.
func ExampleRecvContext() {
	run(func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return nil // sends nothing
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, err := mpi.RecvContext(ctx, c, make([]int, 1), 0, 0)
		fmt.Println(errors.Is(err, context.DeadlineExceeded))
		return nil
	})
	// Output: true
}
