// Package kalstream predicts a live stream and learns from every sample. It is a thin layer over libkalstream.so and
// gives the same numbers as kalstream's program, C++ library and Python package, to the last bit.
//
// The library is found by pkg-config (Debian: libkalstream-dev). Learners and streams can be used by any goroutine, but
// by one at a time: a second one that calls meanwhile gets an error with the code Busy.
package kalstream

/*
#cgo pkg-config: kalstream-c
#include <kalstream/kalstream.h>
#include <stdlib.h>
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Code tells what kind of thing went wrong.
type Code int

const (
	Invalid  Code = 1 // a wrong size, or a name or value that is not known
	Unusable Code = 2 // a number is not finite, or beyond 1e100: nothing has changed
	Snapshot Code = 3 // bytes that are no snapshot, a damaged one, or of a newer version
	Schema   Code = 4 // a record has other fields than the stream that was learnt from
	NotFound Code = 5 // there is no model of this key
	Memory   Code = 6 // there is not enough of it
	Busy     Code = 7 // another goroutine is using this learner or stream
	Internal Code = 8 // a mistake in kalstream itself
)

// Error is what every function here returns if it fails.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return "kalstream: " + e.Message }

// The message belongs to the thread that made the call.
func check(call func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if code := call(); code != C.KALSTREAM_OK {
		return &Error{Code(code), C.GoString(C.kalstream_error())}
	}
	return nil
}

func closed(what string) error { return &Error{Invalid, "the " + what + " is closed"} }

// Version of the library that runs: "0.3.0".
func Version() string { return C.GoString(C.kalstream_version()) }

// Learners are all there are, with all their settings, as JSON.
func Learners() (string, error) {
	return text(func(json **C.char) C.int { return C.kalstream_learners(json) })
}

// Describe says what a snapshot or a checkpoint holds, as JSON.
func Describe(snapshot []byte) (string, error) {
	return text(func(json **C.char) C.int {
		return C.kalstream_describe(bytesAt(snapshot), C.size_t(len(snapshot)), json)
	})
}

// ---- Between Go and C.

func numbersAt(values []float64) *C.double {
	if len(values) == 0 {
		return nil
	}
	return (*C.double)(unsafe.Pointer(&values[0]))
}

func bytesAt(bytes []byte) *C.uchar {
	if len(bytes) == 0 {
		return nil
	}
	return (*C.uchar)(unsafe.Pointer(&bytes[0]))
}

func text(call func(**C.char) C.int) (string, error) {
	var made *C.char
	if err := check(func() C.int { return call(&made) }); err != nil {
		return "", err
	}
	defer C.kalstream_free(unsafe.Pointer(made))
	return C.GoString(made), nil
}

func bytes(call func(**C.uchar, *C.size_t) C.int) ([]byte, error) {
	var made *C.uchar
	var size C.size_t
	if err := check(func() C.int { return call(&made, &size) }); err != nil {
		return nil, err
	}
	defer C.kalstream_free(unsafe.Pointer(made))
	copied := make([]byte, int(size))
	copy(copied, unsafe.Slice((*byte)(unsafe.Pointer(made)), int(size)))
	return copied, nil
}
