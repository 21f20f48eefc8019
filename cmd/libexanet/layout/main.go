// Command layout writes the C header of what C and Go share in memory: the structs and the
// constants of the preload library that Go declares. It reads the Go source, so that no layout and
// no number is written twice:
//
//	go run ./cmd/libexanet/layout >cmd/libexanet/c/layout.h
//
// A directive in the doc comment of a declaration says what C is to know:
//
//	//exanet:c NAME      on a struct type: struct NAME, with the same fields at the same places
//	//exanet:c PREFIX_   on a const declaration: PREFIX_ and the name of each constant, in capitals,
//	                     which may begin with the prefix itself
//
// A field keeps its name, in C's manner (bulkTail is bulk_tail). It may be an integer of a given size, a bool,
// an atomic one of these, a struct that has a directive itself, or an array; what is named _ is
// left out, and so is an unmarked struct, whose place stays empty. Assertions in the header hold the C
// compiler to the offsets that Go's has chosen. A constant is an integer.
//
// To add a type or a constant: give it a directive, run the command, and include layout.h. A test
// fails as long as the header that is kept differs from what the command writes.
package main

import (
	"fmt"
	"os"
)

func main() {
	text, err := generate(".")
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "layout:", err)
		os.Exit(1)
	}
}
