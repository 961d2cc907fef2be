package kalstream

/*
#include <kalstream/kalstream.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Answers tells how a stream's answers are written.
type Answers int

const (
	AsRecords Answers = 0 // as the records are
	JSON      Answers = 1
	CSV       Answers = 2
)

// Stream takes records and gives answers: `kalstream stream` without files and pipes.
type Stream struct {
	handle *C.kalstream_stream
}

// NewStream makes a stream of these settings, a JSON object of the options that `kalstream stream` has.
func NewStream(settings string, answers Answers) (*Stream, error) {
	cSettings := C.CString(settings)
	defer C.free(unsafe.Pointer(cSettings))
	s := &Stream{}
	if err := check(func() C.int { return C.kalstream_stream_new(cSettings, C.int(answers), &s.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(s, (*Stream).Close)
	return s, nil
}

// ResumeStream makes one that goes on from a checkpoint, with the settings of then.
func ResumeStream(settings string, answers Answers, checkpoint []byte) (*Stream, error) {
	s, err := NewStream(settings, answers)
	if err != nil {
		return nil, err
	}
	err = s.check(func() C.int {
		return C.kalstream_stream_resume(s.handle, bytesAt(checkpoint), C.size_t(len(checkpoint)))
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close gives its memory back at once; otherwise the garbage collector does.
func (s *Stream) Close() {
	C.kalstream_stream_free(s.handle)
	s.handle = nil
	runtime.SetFinalizer(s, nil)
}

func (s *Stream) check(call func() C.int) error {
	defer runtime.KeepAlive(s)
	if s.handle == nil {
		return closed("stream")
	}
	return check(call)
}

// Take takes a line of JSON or CSV. The answer is "" where a line says nothing, such as a header.
func (s *Stream) Take(line string) (string, error) {
	data := []byte(line)
	var answer *C.char
	var length C.size_t
	err := s.check(func() C.int {
		return C.kalstream_stream_take(s.handle, (*C.char)(unsafe.Pointer(bytesAt(data))), C.size_t(len(data)), &answer, &length)
	})
	if err != nil || answer == nil {
		return "", err
	}
	text := C.GoStringN(answer, C.int(length))
	runtime.KeepAlive(s)
	return text, nil
}

// Learn learns what the last record has brought; every other call does so first.
func (s *Stream) Learn() error {
	return s.check(func() C.int { return C.kalstream_stream_learn(s.handle) })
}

func (s *Stream) text(call func(**C.char) C.int) (string, error) {
	defer runtime.KeepAlive(s)
	if s.handle == nil {
		return "", closed("stream")
	}
	return text(call)
}

// Remarks are what people should know since the last call, a line each.
func (s *Stream) Remarks() (string, error) {
	return s.text(func(made **C.char) C.int { return C.kalstream_stream_remarks(s.handle, made) })
}

// Schema tells which field is what, as JSON.
func (s *Stream) Schema() (string, error) {
	return s.text(func(made **C.char) C.int { return C.kalstream_stream_schema(s.handle, made) })
}

// Status tells what was counted and how good it was, as JSON.
func (s *Stream) Status() (string, error) {
	return s.text(func(made **C.char) C.int { return C.kalstream_stream_status(s.handle, made) })
}

// StateOf gives the model of a key, "" where there are no keys; nil if there is none.
func (s *Stream) StateOf(key string) ([]byte, error) {
	defer runtime.KeepAlive(s)
	if s.handle == nil {
		return nil, closed("stream")
	}
	name := []byte(key)
	state, err := bytes(func(made **C.uchar, size *C.size_t) C.int {
		return C.kalstream_stream_state_of(s.handle, (*C.char)(unsafe.Pointer(bytesAt(name))), C.size_t(len(name)), made, size)
	})
	if isNotFound(err) {
		return nil, nil
	}
	return state, err
}

// PutState makes the key's model that of these bytes.
func (s *Stream) PutState(key string, state []byte) error {
	name := []byte(key)
	return s.check(func() C.int {
		return C.kalstream_stream_put_state(s.handle, (*C.char)(unsafe.Pointer(bytesAt(name))), C.size_t(len(name)),
			bytesAt(state), C.size_t(len(state)))
	})
}

// Forget makes it as if the key had never come; false if it has not.
func (s *Stream) Forget(key string) (bool, error) {
	name := []byte(key)
	err := s.check(func() C.int {
		return C.kalstream_stream_forget(s.handle, (*C.char)(unsafe.Pointer(bytesAt(name))), C.size_t(len(name)))
	})
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Checkpoint is the whole stream, all models included, for ResumeStream.
func (s *Stream) Checkpoint() ([]byte, error) {
	defer runtime.KeepAlive(s)
	if s.handle == nil {
		return nil, closed("stream")
	}
	return bytes(func(made **C.uchar, size *C.size_t) C.int { return C.kalstream_stream_checkpoint(s.handle, made, size) })
}

func isNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == NotFound
}
