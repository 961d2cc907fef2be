package kalstream

/*
#include <kalstream/kalstream.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"sort"
	"strconv"
	"unsafe"
)

// Options of a learner; the zero value is what most streams need.
type Options struct {
	Seed     uint64            // of the random start; 0: 1
	Interval float64           // bounds around predictions that hold this part of the targets, e.g. 0.9; 0: none
	Surprise bool              // how strange targets are can be asked
	Horizon  int               // forecasts are learnt for each of so many samples ahead; 0: step by step
	Unscaled bool              // inputs and targets are taken as they are
	Set      map[string]string // settings of the learner, by name: Learners lists them
}

func (o Options) pairs() []string {
	var pairs []string
	if o.Seed != 0 {
		pairs = append(pairs, "seed", strconv.FormatUint(o.Seed, 10))
	}
	if o.Interval != 0 {
		pairs = append(pairs, "interval", strconv.FormatFloat(o.Interval, 'g', -1, 64))
	}
	if o.Surprise {
		pairs = append(pairs, "surprise", "true")
	}
	if o.Horizon != 0 {
		pairs = append(pairs, "horizon", strconv.Itoa(o.Horizon))
	}
	if o.Unscaled {
		pairs = append(pairs, "scaled", "false")
	}
	keys := make([]string, 0, len(o.Set))
	for key := range o.Set {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		pairs = append(pairs, key, o.Set[key])
	}
	return pairs
}

// Status is what a step did to the weights.
type Status int

const (
	Applied            Status = 0 // they were updated
	Gated              Status = 1 // the rule chose not to learn from this error
	Missing            Status = 2 // no target: the state moved on, the weights stayed
	RejectedNonFinite  Status = 4 // the update would have overflowed: the weights stayed
	RejectedCovariance Status = 5 // the filter refused the update: the weights stayed
)

// Report is what one step did.
type Report struct {
	Status          Status
	Experts         uint64 // how many networks took the step …
	Applied         uint64 // … how many of them updated …
	Rejected        uint64 // … and how many updates were rejected
	CovarianceTrace float64
}

// Bounded are predictions or forecasts with their bounds; NaN where there is no telling yet.
type Bounded struct {
	Values, Low, High []float64
}

// Learner is an online regressor: for each sample Predict, then Learn.
type Learner struct {
	handle          *C.kalstream_learner
	inputs, outputs int
}

// NewLearner makes a learner by name ("auto", "alg2", "ekf", "rls", …) for so many inputs and outputs.
func NewLearner(name string, inputs, outputs int, options Options) (*Learner, error) {
	if inputs < 0 || outputs < 0 {
		return nil, &Error{Invalid, "inputs and outputs cannot be negative"}
	}
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	pairs := options.pairs()
	pointerSize := unsafe.Sizeof(uintptr(0))
	list := C.calloc(C.size_t(len(pairs)+1), C.size_t(pointerSize))
	defer C.free(list)
	settings := unsafe.Slice((**C.char)(list), len(pairs)+1)
	for k, word := range pairs {
		settings[k] = C.CString(word)
		defer C.free(unsafe.Pointer(settings[k]))
	}
	var handle *C.kalstream_learner
	if err := check(func() C.int {
		return C.kalstream_learner_new(cName, C.size_t(inputs), C.size_t(outputs), (**C.char)(list), &handle)
	}); err != nil {
		return nil, err
	}
	return learnerOf(handle)
}

// LoadLearner makes one from what Save or Snapshot gave, here or in another language.
func LoadLearner(saved []byte) (*Learner, error) {
	var handle *C.kalstream_learner
	if err := check(func() C.int {
		return C.kalstream_learner_load(bytesAt(saved), C.size_t(len(saved)), nil, &handle)
	}); err != nil {
		return nil, err
	}
	return learnerOf(handle)
}

func learnerOf(handle *C.kalstream_learner) (*Learner, error) {
	l := &Learner{handle: handle}
	runtime.SetFinalizer(l, (*Learner).Close)
	var inputs, outputs C.size_t
	err := check(func() C.int { return C.kalstream_learner_size(handle, &inputs, &outputs, nil) })
	l.inputs, l.outputs = int(inputs), int(outputs)
	return l, err
}

// Close gives its memory back at once; otherwise the garbage collector does.
func (l *Learner) Close() {
	C.kalstream_learner_free(l.handle)
	l.handle = nil
	runtime.SetFinalizer(l, nil)
}

func (l *Learner) check(call func() C.int) error {
	defer runtime.KeepAlive(l)
	if l.handle == nil {
		return closed("learner")
	}
	return check(call)
}

// Inputs is how many numbers a sample has.
func (l *Learner) Inputs() int { return l.inputs }

// Outputs is how many targets a sample has.
func (l *Learner) Outputs() int { return l.outputs }

// Samples are those learnt or advanced to.
func (l *Learner) Samples() (uint64, error) {
	var samples C.uint64_t
	err := l.check(func() C.int { return C.kalstream_learner_size(l.handle, nil, nil, &samples) })
	return uint64(samples), err
}

// Predict gives the prediction for x; it has no effect on later calls.
func (l *Learner) Predict(x []float64) ([]float64, error) {
	d := make([]float64, l.outputs)
	err := l.check(func() C.int {
		return C.kalstream_learner_predict(l.handle, numbersAt(x), C.size_t(len(x)), numbersAt(d), C.size_t(len(d)))
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Interval gives the prediction with bounds, for a learner with Options.Interval.
func (l *Learner) Interval(x []float64) (Bounded, error) {
	all := bounded(l.outputs)
	err := l.check(func() C.int {
		return C.kalstream_learner_interval(l.handle, numbersAt(x), C.size_t(len(x)), numbersAt(all.Values),
			numbersAt(all.Low), numbersAt(all.High), C.size_t(l.outputs))
	})
	return all, err
}

// Surprise is the probability of a target at least so far off as d, for a learner with Options.Surprise. Ask before
// Learn.
func (l *Learner) Surprise(x, d []float64) ([]float64, error) {
	p := make([]float64, len(d))
	err := l.check(func() C.int {
		return C.kalstream_learner_surprise(l.handle, numbersAt(x), C.size_t(len(x)), numbersAt(d), numbersAt(p),
			C.size_t(len(d)))
	})
	return p, err
}

// Learn moves on to x and learns its target d.
func (l *Learner) Learn(x, d []float64) (Report, error) {
	return l.step(func(report *C.kalstream_report) C.int {
		return C.kalstream_learner_learn(l.handle, numbersAt(x), C.size_t(len(x)), numbersAt(d), C.size_t(len(d)), report)
	})
}

// Advance moves on to x without a target.
func (l *Learner) Advance(x []float64) (Report, error) {
	return l.step(func(report *C.kalstream_report) C.int {
		return C.kalstream_learner_advance(l.handle, numbersAt(x), C.size_t(len(x)), report)
	})
}

// Observe moves on to x, whose target was d, without learning from it.
func (l *Learner) Observe(x, d []float64) (Report, error) {
	return l.step(func(report *C.kalstream_report) C.int {
		return C.kalstream_learner_observe(l.handle, numbersAt(x), C.size_t(len(x)), numbersAt(d), C.size_t(len(d)), report)
	})
}

func (l *Learner) step(call func(*C.kalstream_report) C.int) (Report, error) {
	var r C.kalstream_report
	r.size = C.size_t(unsafe.Sizeof(r))
	if err := l.check(func() C.int { return call(&r) }); err != nil {
		return Report{}, err
	}
	return Report{Status(r.status), uint64(r.experts), uint64(r.applied), uint64(r.rejected), float64(r.covariance_trace)}, nil
}

// Forecast gives the next samples, whose inputs are the rows of future, one row after the other.
func (l *Learner) Forecast(horizon int, future []float64) ([]float64, error) {
	all, err := l.lookAhead(horizon, future, false)
	return all.Values, err
}

// ForecastBounds gives the same with bounds, for a learner with Options.Horizon and Options.Interval.
func (l *Learner) ForecastBounds(horizon int, future []float64) (Bounded, error) {
	return l.lookAhead(horizon, future, true)
}

func (l *Learner) lookAhead(horizon int, future []float64, withBounds bool) (Bounded, error) {
	const most = 1 << 30
	if horizon < 1 || horizon > most/(l.outputs+1) {
		return Bounded{}, &Error{Invalid, fmt.Sprintf("horizon: %d is not a number of samples it can be", horizon)}
	}
	all := bounded(horizon * l.outputs)
	low, high := all.Low, all.High
	if !withBounds {
		low, high = nil, nil
	}
	err := l.check(func() C.int {
		return C.kalstream_learner_forecast(l.handle, C.size_t(horizon), numbersAt(future), C.size_t(len(future)),
			numbersAt(all.Values), numbersAt(low), numbersAt(high), C.size_t(len(all.Values)))
	})
	return all, err
}

func bounded(size int) Bounded {
	return Bounded{make([]float64, size), make([]float64, size), make([]float64, size)}
}

// ExpectPeriods tells after how many samples the stream repeats itself, the shortest period first.
func (l *Learner) ExpectPeriods(samples ...float64) error {
	return l.check(func() C.int {
		return C.kalstream_learner_expect_periods(l.handle, numbersAt(samples), C.size_t(len(samples)))
	})
}

// Expert is one of those that a learner mixes.
type Expert struct {
	Name   string
	Weight float64 // how much it counts now; all together 1
}

// Experts it mixes; none if it mixes none.
func (l *Learner) Experts() ([]Expert, error) {
	var count C.size_t
	if err := l.check(func() C.int { return C.kalstream_learner_experts(l.handle, &count) }); err != nil {
		return nil, err
	}
	weights := make([]float64, int(count))
	if err := l.check(func() C.int { return C.kalstream_learner_weights(l.handle, numbersAt(weights), count) }); err != nil {
		return nil, err
	}
	experts := make([]Expert, int(count))
	for k := range experts {
		var name *C.char
		if err := l.check(func() C.int { return C.kalstream_learner_expert_name(l.handle, C.size_t(k), &name) }); err != nil {
			return nil, err
		}
		experts[k] = Expert{C.GoString(name), weights[k]}
	}
	runtime.KeepAlive(l)
	return experts, nil
}

// Reset goes back to the state after it was made.
func (l *Learner) Reset() error {
	return l.check(func() C.int { return C.kalstream_learner_reset(l.handle) })
}

// Clone makes an independent copy, with all it has learnt.
func (l *Learner) Clone() (*Learner, error) {
	var copied *C.kalstream_learner
	if err := l.check(func() C.int { return C.kalstream_learner_clone(l.handle, &copied) }); err != nil {
		return nil, err
	}
	return learnerOf(copied)
}

// Snapshot is the learner alone, for the program, C++ and Python as well.
func (l *Learner) Snapshot() ([]byte, error) {
	defer runtime.KeepAlive(l)
	if l.handle == nil {
		return nil, closed("learner")
	}
	return bytes(func(made **C.uchar, size *C.size_t) C.int { return C.kalstream_learner_snapshot(l.handle, made, size) })
}

// Save is all that it knows, intervals, surprise and forecasts included: LoadLearner goes on to the same bits.
func (l *Learner) Save() ([]byte, error) {
	defer runtime.KeepAlive(l)
	if l.handle == nil {
		return nil, closed("learner")
	}
	return bytes(func(made **C.uchar, size *C.size_t) C.int { return C.kalstream_learner_save(l.handle, made, size) })
}
