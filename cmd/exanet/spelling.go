package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// withNP replaces -np, as other MPIs' launchers spell it, by -n among the flags of a command that has
// that flag. What comes behind the first word that is neither a flag nor a flag's value may be of
// another program.
func withNP(root *cobra.Command, args []string) []string {
	c, rest, err := root.Find(args)
	if err != nil || c.Flags().ShorthandLookup("n") == nil {
		return args
	}
	args = slices.Clone(args)
	rest = args[len(args)-len(rest):]
	for i := 0; i < len(rest); i++ {
		switch word := rest[i]; {
		case word == "-np":
			rest[i] = "-n"
		case strings.HasPrefix(word, "-np="):
			rest[i] = "-n=" + strings.TrimPrefix(word, "-np=")
		case word == "--" || !strings.HasPrefix(word, "-"):
			return args
		}
		if takesNext(c, rest[i]) {
			i++
		}
	}
	return args
}

// takesNext reports whether the word after a flag is its value.
func takesNext(c *cobra.Command, word string) bool {
	var f *pflag.Flag
	if name, long := strings.CutPrefix(word, "--"); long {
		f = c.Flags().Lookup(name)
	} else if len(word) == 2 {
		f = c.Flags().ShorthandLookup(word[1:])
	}
	return f != nil && f.NoOptDefVal == ""
}
