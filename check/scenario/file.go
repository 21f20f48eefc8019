package scenario

import (
	"fmt"
	"strings"
)

// PlayFile plays a whole file, given as text, and returns its player, whose
// Chart holds all that happened, and the outputs of the directives after the
// input that made them. What the file holds as output is not looked at.
func PlayFile(text string) (*Player, string, error) {
	var (
		s       Player
		out     strings.Builder
		ordered bool
	)
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		head := strings.TrimSpace(lines[i])
		if head == "" || strings.HasPrefix(head, "#") {
			if strings.HasPrefix(head, "#") {
				if !ordered {
					s.about = append(s.about, strings.TrimSpace(strings.TrimPrefix(head, "#")))
				}
				out.WriteString(head + "\n")
			}
			continue
		}
		at := i
		var input []string
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "----"; i++ {
			input = append(input, lines[i])
		}
		if i == len(lines) {
			return nil, "", fmt.Errorf("line %d: no line of four dashes follows %q", at+1, head)
		}
		for i+1 < len(lines) && lines[i+1] != "" {
			i++ // the output
		}
		words := strings.Fields(head)
		about := s.about
		shown, err := s.Exec(words[0], words[1:], strings.Join(input, "\n"))
		if err != nil {
			return nil, "", fmt.Errorf("line %d: %w", at+1, err)
		}
		s.about, ordered = about, true
		out.WriteString("\n" + shown)
	}
	if s.w == nil {
		return nil, "", fmt.Errorf("there is no scenario in it (it begins as in: ranks S R variant=ticket)")
	}
	s.Chart.Title = strings.Join(s.about, " ")
	return &s, strings.TrimLeft(out.String(), "\n"), nil
}
