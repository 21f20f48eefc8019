package coll

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A table file has rows that come before those built in, one a line, as
// "exanet tune" writes and "exanet info --collectives" prints them:
//
//	# collective            bytes  ranks  algorithm
//	bcast                   32768      2  shared      # what follows a # is a comment
//	bcast                     any      2  binomial
//
// A row is for calls of at most so many bytes among at most so many ranks; the first
// that fits counts.

// TableHead is the first line of a table, a comment.
const TableHead = "# collective            bytes  ranks  algorithm"

// Row is a row of a table file.
type Row struct {
	Op Collective
	Rule
}

// String is the row as a line of a file.
func (r Row) String() string {
	return fmt.Sprintf("%-20s%9s%7s  %s", r.Op, limitText(r.Bytes), limitText(r.Ranks), r.Algorithm)
}

const noLimit = "any"

func limitText(n int) string {
	if n == 0 {
		return noLimit
	}
	return strconv.Itoa(n)
}

// TableError says what is wrong with a table file.
type TableError struct {
	File string
	Line int // 0: the file as a whole
	Err  error
}

func (e *TableError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("table %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("table %s, line %d: %v", e.File, e.Line, e.Err)
}

func (e *TableError) Unwrap() error { return e.Err }

// mostTable bounds the size of a table file in bytes.
const mostTable = 1 << 20

// ReadTable reads a table file. The error is a *TableError.
func ReadTable(file string) ([]Row, error) {
	text, err := readTable(file)
	if err != nil {
		return nil, &TableError{File: file, Err: err}
	}
	rows, err := ParseTable(string(text))
	if bad := (*TableError)(nil); errors.As(err, &bad) {
		bad.File = file
	}
	return rows, err
}

func readTable(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for who writes to it
		err = errors.New("it is not a file that every rank can read")
	}
	if err != nil {
		return nil, cause(err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostTable+1))
	if err == nil && len(text) > mostTable {
		err = fmt.Errorf("it is longer than %d bytes", mostTable)
	}
	return text, cause(err)
}

// cause is what has happened, without the name of the file.
func cause(err error) error {
	if bad := (*os.PathError)(nil); errors.As(err, &bad) {
		return bad.Err
	}
	return err
}

// ParseTable reads the text of a table file. The error is a *TableError without a file.
func ParseTable(text string) ([]Row, error) {
	var rows []Row
	line := 0
	for words := range strings.SplitSeq(text, "\n") {
		line++
		words, _, _ = strings.Cut(words, "#")
		if strings.TrimSpace(words) == "" {
			continue
		}
		r, err := parseRow(strings.Fields(words))
		if err != nil {
			return nil, &TableError{Line: line, Err: err}
		}
		r.Line = line
		for i := range rows {
			if rows[i].Op == r.Op && rows[i].covers(&r.Rule) {
				return nil, &TableError{Line: line, Err: fmt.Errorf("no call comes to this row: line %d has them all",
					rows[i].Line)}
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func parseRow(words []string) (r Row, err error) {
	if len(words) != 4 {
		return r, fmt.Errorf("want collective, bytes, ranks and algorithm: %d words", len(words))
	}
	op, algorithm, err := named(words[0], words[3])
	if err != nil {
		return r, err
	}
	r.Op, r.Algorithm = op, algorithm.Name
	if r.Bytes, err = parseLimit("bytes", words[1]); err != nil {
		return r, err
	}
	if r.Ranks, err = parseLimit("ranks", words[2]); err != nil {
		return r, err
	}
	if r.Bytes != 0 && !op.Sized() {
		return r, fmt.Errorf("not all ranks know a size of %s: bytes must be any", op)
	}
	return r, nil
}

func parseLimit(of, word string) (int, error) {
	if word == noLimit {
		return 0, nil
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s %.40q: want a number from 1 on, or any", of, word)
	}
	return n, nil
}
