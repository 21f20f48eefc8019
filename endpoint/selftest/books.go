package selftest

import (
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// giveUpOther gives the second set of pages back, so that nobody holds it.
func (b *bench) giveUpOther() error {
	err := b.other.release()
	b.other = nil
	return err
}

// retake takes a second set of pages again.
func (b *bench) retake() (err error) {
	if b.other, err = b.take(b.own.box.PDID); err != nil {
		return fmt.Errorf("pages that were given back cannot be taken again: %w", err)
	}
	return nil
}

// counters checks that the books balance when nothing is under way.
func (b *bench) counters() (string, error) {
	for _, s := range b.sets() {
		if sent := s.port.Reg(mmio.RegSend).Load(); sent != s.port.seq {
			return "", fmt.Errorf("SEND reads as %d, but %d was stored", sent, s.port.seq)
		}
		for k := range mmio.Windows {
			if !s.port.free(k) {
				return "", fmt.Errorf("DONE of window %d is %d, and SEQ is %d, though nothing is under way", k,
					s.port.at(k, mmio.WinDone).Load(), s.port.at(k, mmio.WinSeq).Load())
			}
		}
		if s.box.extra > 0 {
			return "", fmt.Errorf("TAIL of mailbox %d counts %d messages more than were sent to it", s.box.Index,
				s.box.extra)
		}
		if head := s.box.Reg(mmio.RegHead).Load(); head != s.box.taken || s.box.tail() != head {
			return "", fmt.Errorf("mailbox %d has TAIL %d and HEAD %d, and %d messages were taken out: nobody but the "+
				"process writes HEAD, and TAIL counts what was delivered", s.box.Index, s.box.tail(), head, s.box.taken)
		}
		for k := range mmio.Descriptors {
			if !s.channel.done(k) {
				return "", fmt.Errorf("DONE of descriptor %d is %d, and %d was stored to SUBMIT, though nothing is "+
					"under way", k, s.channel.at(k, mmio.DescDone).Load(), s.channel.submit[k])
			}
		}
	}
	return fmt.Sprintf("SEND %d = DONE, TAIL %d = HEAD, SUBMIT = DONE", b.own.port.seq, b.own.box.taken), nil
}

// givenBack gives all pages back and takes them again.
func (b *bench) givenBack() (string, error) {
	pdid := b.own.box.PDID
	for range 2 {
		err := b.own.release()
		b.own = nil
		if err != nil {
			return "", err
		}
		if b.own, err = b.take(pdid); err != nil {
			return "", fmt.Errorf("pages that were given back cannot be taken again: %w", err)
		}
	}
	var errs []error
	for _, s := range b.sets() {
		errs = append(errs, s.release())
	}
	b.own, b.other, b.foreign = nil, nil, nil
	return "and taken again", errors.Join(errs...)
}
