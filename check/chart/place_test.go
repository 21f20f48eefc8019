package chart_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/check/scenario"
)

var (
	frameOf = regexp.MustCompile(`viewBox="0 0 (\S+) (\S+)"`)
	lineOf  = regexp.MustCompile(`<line class="(message|write|notice)" x1="(\S+)" y1="(\S+)" x2="(\S+)" y2="(\S+)"/>`)
	labelOf = regexp.MustCompile(`<text class="label \w+" transform="translate\((\S+) (\S+)\) rotate\((\S+)\)" ` +
		`y="(\S+)">(.*)</text>`)
	rowOf = regexp.MustCompile(`<text class="(call|outcome|wrong) halo" x="(\S+)" y="(\S+)" ` +
		`text-anchor="(\w+)">(.*)</text>`)
)

// boxed is a text in a drawing: its box, in a system of its own that begins at x, y and is turned by angle.
type boxed struct {
	text                    string
	x, y, angle             float64
	left, right, above, low float64
}

// holds reports whether a point is in the box.
func (b boxed) holds(x, y float64) bool {
	sin, cos := math.Sincos(b.angle)
	dx, dy := x-b.x, y-b.y
	along, down := dx*cos+dy*sin, dy*cos-dx*sin
	return along > b.left && along < b.right && down > b.above && down < b.low
}

// each calls f for points of the box, a pixel apart.
func (b boxed) each(f func(x, y float64)) {
	sin, cos := math.Sincos(b.angle)
	for along := b.left; along <= b.right; along++ {
		for down := b.above; down <= b.low; down++ {
			f(b.x+along*cos-down*sin, b.y+along*sin+down*cos)
		}
	}
}

func numbers(t *testing.T, words ...string) (list []float64) {
	for _, w := range words {
		v, err := strconv.ParseFloat(w, 64)
		require.NoError(t, err)
		list = append(list, v)
	}
	return list
}

// texts reads the labels and the texts of rows. Half an em is a letter's mean width in a usual font.
func texts(t *testing.T, svg string) (labels, rows []boxed) {
	for _, m := range labelOf.FindAllStringSubmatch(svg, -1) {
		n, w := numbers(t, m[1:5]...), 12*0.5*float64(len(m[5]))
		labels = append(labels, boxed{m[5], n[0], n[1], n[2] * math.Pi / 180, -w / 2, w / 2, n[3] - 9, n[3] + 1})
	}
	for _, m := range rowOf.FindAllStringSubmatch(svg, -1) {
		n, w := numbers(t, m[2], m[3]), 13*0.5*float64(len(m[5]))
		b := boxed{m[5], n[0], n[1], 0, 0, w, -10, 2}
		if m[4] == "end" {
			b.left, b.right = -w, 0
		}
		rows = append(rows, b)
	}
	return labels, rows
}

// No arrow crosses a label, no label lies on another or on what a rank does, and nothing leaves the drawing: in all
// the figures.
func TestNothingIsCrossed(t *testing.T) {
	files, err := filepath.Glob("../../variants/testdata/*.txt")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file, err := os.ReadFile(name)
			require.NoError(t, err)
			s, _, err := scenario.PlayFile(string(file))
			require.NoError(t, err)
			svg := s.Chart.SVG()
			frame := numbers(t, frameOf.FindStringSubmatch(svg)[1:]...)
			labels, rows := texts(t, svg)
			require.Len(t, labels, len(s.Chart.Arrows))
			for i, l := range append(labels, rows...) {
				l.each(func(x, y float64) {
					if x < 0 || y < 0 || x > frame[0] || y > frame[1] {
						t.Fatalf("%q leaves the drawing", l.text)
					}
				})
				for _, o := range labels[:min(i, len(labels))] {
					o.each(func(x, y float64) {
						if l.holds(x, y) {
							t.Fatalf("%q lies on %q", o.text, l.text)
						}
					})
				}
				for _, m := range lineOf.FindAllStringSubmatch(svg, -1) {
					n := numbers(t, m[2:]...)
					for k := range 501 {
						at := float64(k) / 500
						if x, y := n[0]+(n[2]-n[0])*at, n[1]+(n[3]-n[1])*at; l.holds(x, y) {
							t.Fatal(fmt.Sprintf("%q is crossed by an arrow at %.0f, %.0f", l.text, x, y))
						}
					}
				}
			}
		})
	}
}
