// Package collect has a buffer for what processes print, which tests may read meanwhile.
package collect

import (
	"bytes"
	"sync"
)

// Buffer is a buffer that several goroutines use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
