package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/exanet-mpi/exanet/internal/env"
)

// PMI-1 is a dialogue in lines of text, "cmd=NAME KEY=VALUE ...". A rank asks, and the launcher answers each request
// with one line, in order. Values have no spaces.

// What Hydra, or Slurm's plugin pmi2, tells a process.
const (
	descriptorVar = "PMI_FD"   // the descriptor of a socket; then there are
	rankVar       = "PMI_RANK" //
	sizeVar       = "PMI_SIZE" //
	portVar       = "PMI_PORT" // or HOST:PORT, where the launcher tells the rest to who says its
	idVar         = "PMI_ID"   //
)

const (
	maxRequest = 1024     // bytes of a line: Slurm reads no more at a time
	maxAnswer  = 64 << 10 // bytes of a line, far above any launcher's
)

// connection is a socket that has come by its descriptor, or one that this process has made.
type connection interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}

// wire is a Launcher that speaks PMI-1.
type wire struct {
	rank  int
	conn  connection
	in    *bufio.Reader
	space string // name of the job's keys and values
	key   int    // bytes that a key may have
	value int    // bytes that a value may have
}

// openWire joins the job of the launcher that one of descriptorVar and portVar names.
func openWire(ctx context.Context, by string) (*Client, error) {
	w := &wire{rank: -1}
	var size int
	if by == portVar {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", os.Getenv(portVar))
		if err != nil {
			return nil, fmt.Errorf("the launcher cannot be reached at %s=%s: %w", portVar, os.Getenv(portVar), err)
		}
		w.conn, w.in = conn, bufio.NewReaderSize(conn, maxAnswer)
		if size, err = w.introduce(ctx); err != nil {
			conn.Close()
			return nil, err
		}
	} else {
		var err error
		if w.rank, err = number(os.Getenv(rankVar)); err != nil {
			return nil, fmt.Errorf("%s: %w", rankVar, err)
		}
		if size, err = number(os.Getenv(sizeVar)); err != nil {
			return nil, fmt.Errorf("%s: %w", sizeVar, err)
		}
		file, err := env.File(descriptorVar)
		if err != nil {
			return nil, fmt.Errorf("%w: if no launcher has started it, unset %[2]s", err, descriptorVar)
		}
		w.conn, w.in = file, bufio.NewReaderSize(file, maxAnswer)
	}
	if w.rank >= size {
		w.conn.Close()
		return nil, fmt.Errorf("the launcher names rank %d in a job of %d ranks", w.rank, size)
	}
	if err := w.begin(ctx); err != nil {
		w.conn.Close()
		return nil, err
	}
	return &Client{Rank: w.rank, Size: size, Job: w.space, Launcher: w}, nil
}

// introduce says who this process is and returns how many ranks the job has.
func (w *wire) introduce(ctx context.Context) (size int, err error) {
	const request = "initack"
	if _, err := w.ask(ctx, request, "initack", "pmiid="+os.Getenv(idVar)); err != nil {
		return 0, err
	}
	// The launcher goes on without being asked.
	err = w.attend(ctx, request, func() error {
		told := map[string]int{}
		for range 3 {
			fields, err := w.answer("set")
			if err != nil {
				return err
			}
			for _, name := range []string{"size", "rank", "debug"} {
				if text, ok := fields[name]; ok {
					if told[name], err = number(text); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
				}
			}
		}
		if len(told) < 3 {
			return errors.New("the launcher has not told the rank and the size")
		}
		w.rank, size = told["rank"], told["size"]
		return nil
	})
	return size, err
}

// begin agrees on the version and asks for the names and bounds of what can be put.
func (w *wire) begin(ctx context.Context) error {
	if _, err := w.ask(ctx, "init", "response_to_init", "pmi_version=1", "pmi_subversion=1"); err != nil {
		return err
	}
	maxes, err := w.ask(ctx, "get_maxes", "maxes")
	if err != nil {
		return err
	}
	space, err := w.ask(ctx, "get_my_kvsname", "my_kvsname")
	if err != nil {
		return err
	}
	w.space = space["kvsname"]
	w.key, _ = strconv.Atoi(maxes["keylen_max"])
	w.value, _ = strconv.Atoi(maxes["vallen_max"])
	w.key, w.value = w.key-1, w.value-1 // the launcher counts a byte behind them
	w.value = min(w.value, maxRequest-len(line("put", w.entry("", "")...))-w.key)
	if w.key < 1 || w.value < 32 {
		return &Error{w.rank, "get_maxes", fmt.Errorf("keys of %d bytes and values of %d are too short",
			w.key, w.value)}
	}
	return nil
}

func (w *wire) entry(key, value string) []string {
	return []string{"kvsname=" + w.space, "key=" + key, "value=" + value}
}

func (w *wire) Limit() int { return w.value }

func (w *wire) Put(ctx context.Context, key, value string) error {
	if len(key) > w.key || len(value) > w.value {
		return &Error{w.rank, "put", fmt.Errorf("key %s: %d and %d bytes, and the launcher takes keys of %d and "+
			"values of %d", key, len(key), len(value), w.key, w.value)}
	}
	_, err := w.ask(ctx, "put", "put_result", w.entry(key, value)...)
	return err
}

func (w *wire) Fence(ctx context.Context) error {
	_, err := w.ask(ctx, "barrier_in", "barrier_out")
	return err
}

// Get takes no rank: a key is one's of the whole job.
func (w *wire) Get(ctx context.Context, _ int, key string) (string, error) {
	fields, err := w.ask(ctx, "get", "get_result", "kvsname="+w.space, "key="+key)
	return fields["value"], err
}

func (w *wire) Finalize(ctx context.Context) error {
	_, err := w.ask(ctx, "finalize", "finalize_ack")
	return errors.Join(err, w.conn.Close())
}

// Abort is not answered: the launcher ends this process, too.
func (w *wire) Abort(code int) error {
	const request = "abort"
	if _, err := io.WriteString(w.conn, line(request, "exitcode="+strconv.Itoa(code))); err != nil {
		return &Error{w.rank, request, cause(err)}
	}
	return nil
}

// ask makes a request and returns the fields of its answer.
func (w *wire) ask(ctx context.Context, request, answer string, fields ...string) (got map[string]string, err error) {
	err = w.attend(ctx, request, func() error {
		if _, err := io.WriteString(w.conn, line(request, fields...)); err != nil {
			return cause(err)
		}
		got, err = w.answer(answer)
		return err
	})
	return got, err
}

// attend does what a request needs, and gives up when the context ends.
func (w *wire) attend(ctx context.Context, request string, do func() error) error {
	stop := context.AfterFunc(ctx, func() { w.conn.SetReadDeadline(time.Unix(1, 0)) })
	err := do()
	if !stop() {
		err = Unanswered(ctx.Err())
	}
	if err != nil {
		return &Error{w.rank, request, err}
	}
	return nil
}

// answer reads a line and returns its fields.
func (w *wire) answer(want string) (map[string]string, error) {
	b, err := w.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("the launcher's answer is longer than %d bytes", maxAnswer)
	} else if err != nil {
		return nil, cause(err)
	}
	fields, err := parse(string(b))
	if err != nil {
		return nil, err
	}
	// A launcher that does not know a request may say so under any name.
	if text, ok := fields["rc"]; ok && text != "0" {
		code, _ := strconv.Atoi(text)
		return nil, &Refusal{code, fields["msg"]}
	}
	if fields["cmd"] != want {
		return nil, fmt.Errorf("the launcher answers %.80q instead of %s", b, want)
	}
	return fields, nil
}

// line makes a request.
func line(request string, fields ...string) string {
	return strings.Join(append([]string{"cmd=" + request}, fields...), " ") + "\n"
}

// parse returns the fields of a line.
func parse(line string) (map[string]string, error) {
	fields := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		name, value, ok := strings.Cut(field, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("the launcher's answer %.80q is not in PMI-1: its %.20q is no name=value",
				line, field)
		}
		fields[name] = value
	}
	return fields, nil
}

// number reads what is not negative.
func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number of ranks or that of one", text)
	}
	return n, nil
}

// cause returns ErrGone if an error says that there is nobody at the other end.
func cause(err error) error {
	for _, gone := range []error{io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return ErrGone
		}
	}
	return err
}
