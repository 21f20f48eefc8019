// Command exanet starts MPI jobs and looks at what they run on.
//
// Each command has a file of its own; root.go joins them. How errors become exit
// codes and the one line that a user sees is in exit.go.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }
