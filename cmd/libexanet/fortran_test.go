//go:build real

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A program all in mpi_f08 is ours, sections of arrays included.
func TestFortran2008(t *testing.T) {
	program := compile(t, "f08")
	alone, ours := job(t, 3, nil, program), job(t, 3, []string{library(t), "EXANET_VERBOSE=1"}, program)
	said, rest, _ := strings.Cut(ours.out, "\n")
	assert.Contains(t, said, "exanet: 3 ranks")
	same(t, alone, outcome{rest, ours.code}, "mpi_f08")
}
