// Package bringup drives a software device as somebody would who has nothing
// but docs/registers.md and docs/bring-up.md: its test knows no offset of a
// register but those that it reads there, and uses every one. So what the
// documents say is enough to write the side of the process, and it is true.
//
//	documents.go      finds the registers in the documents
//	bringup_test.go   uses them
package bringup

import (
	"os"
	"regexp"
	"strconv"
	"strings"
)

// registers are the offsets that the documents name, by "section/NAME", where
// a section is the first word of a heading, and "section/part/NAME" within a
// part of a page that there is several times.
type registers struct {
	at   map[string]int64
	step map[string]int64 // of such parts, from one to the next
	used map[string]bool
}

var (
	heading = regexp.MustCompile(`^## (\w+)`)
	plain   = regexp.MustCompile(`^ {4,6}(\+?)0x([0-9A-Fa-f]+) +([A-Z]+) `)
	several = regexp.MustCompile(`^ {4}((?:0x[0-9A-Fa-f]+, )+0x[0-9A-Fa-f]+) +([A-Z]+(?:, [A-Z]+)*)  `)
	part    = regexp.MustCompile(`^ {4,6}0x([0-9A-Fa-f]+) \+ ` + `(0x[0-9A-Fa-f]+|\d+)·\S+(?: mod \S+\))?` +
		` +(?:[A-Z] +)?(\w+)`)
)

// read reads the documents' tables.
func read(paths ...string) (*registers, error) {
	r := &registers{at: map[string]int64{}, step: map[string]int64{}, used: map[string]bool{}}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		section, within := "", ""
		for line := range strings.Lines(string(text)) {
			if m := heading.FindStringSubmatch(line); m != nil {
				section, within = m[1]+"/", ""
			} else if m := plain.FindStringSubmatch(line); m != nil {
				if m[1] == "" {
					within = ""
				}
				r.at[section+within+m[3]] = number("0x" + m[2])
			} else if m := several.FindStringSubmatch(line); m != nil {
				names := strings.Split(m[2], ", ")
				for i, at := range strings.Split(m[1], ", ") {
					r.at[section+names[i%len(names)]] = number(at)
				}
			} else if m := part.FindStringSubmatch(line); m != nil {
				within = m[3] + "/"
				r.at[section+m[3]], r.step[section+m[3]] = number("0x"+m[1]), number(m[2])
			}
		}
	}
	return r, nil
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 0, 64) // the expressions match nothing else
	return n
}

// unused are the registers that nobody has asked for.
func (r *registers) unused() (names []string) {
	for name := range r.at {
		if !r.used[name] {
			names = append(names, name)
		}
	}
	return names
}
