package kalstream

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Every call of the file KALSTREAM_VECTORS, which the C++ library has written, gives the same bits here.
// tests/capi/vectors.cc has the form of the file.
func TestSameBitsAsCpp(t *testing.T) {
	path := os.Getenv("KALSTREAM_VECTORS")
	if path == "" {
		t.Skip("KALSTREAM_VECTORS names no file (make test-bindings does)")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := &player{T: t}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.line++
		call, rest, _ := strings.Cut(lines.Text(), " ")
		p.play(call, rest)
	}
	if p.line < 1000 {
		t.Fatal("the file has too few lines")
	}
}

type player struct {
	*testing.T
	line     int
	learner  *Learner
	stream   *Stream
	settings string
	answers  Answers
	answer   string
}

func (p *player) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("line %d: %v", p.line, err)
	}
}

func (p *player) equal(now, expected string) {
	p.Helper()
	if now != expected {
		p.Fatalf("line %d: %s, not %s", p.line, now, expected)
	}
}

func (p *player) play(call, rest string) {
	var err error
	switch call {
	case "learner":
		words := strings.Split(rest, " ")
		inputs, _ := strconv.Atoi(words[1])
		outputs, _ := strconv.Atoi(words[2])
		options := Options{Set: map[string]string{}}
		for _, setting := range words[3:] {
			key, value, _ := strings.Cut(setting, "=")
			options.Set[key] = value
		}
		p.learner, err = NewLearner(words[0], inputs, outputs, options)
	case "reload":
		saved, failed := p.learner.Save()
		p.must(failed)
		loaded, failed := LoadLearner(saved)
		p.must(failed)
		p.learner, err = loaded.Clone()
		loaded.Close()
	case "stream":
		how, settings, _ := strings.Cut(rest, " ")
		number, _ := strconv.Atoi(how)
		p.settings, p.answers = settings, Answers(number)
		p.stream, err = NewStream(p.settings, p.answers)
	case "line":
		p.answer, err = p.stream.Take(rest)
	case "answer":
		said := strings.ReplaceAll(p.answer, "\n", "\v")
		if said == "" {
			said = "none"
		}
		p.equal(said, rest)
	case "resume":
		checkpoint, failed := p.stream.Checkpoint()
		p.must(failed)
		p.stream.Close()
		p.stream, err = ResumeStream(p.settings, p.answers, checkpoint)
	case "forget":
		var known bool
		known, err = p.stream.Forget(rest)
		p.equal(fmt.Sprint(known), "true")
	case "state":
		key, sum, _ := strings.Cut(rest, "= ")
		var state []byte
		state, err = p.stream.StateOf(strings.TrimSuffix(key, " "))
		p.equal(checksum(state), sum)
	default:
		p.ask(call, rest)
	}
	p.must(err)
}

func (p *player) ask(call, rest string) {
	before, after, _ := strings.Cut(rest, "=")
	words := strings.Fields(before)
	horizon := 0
	if call == "forecast" || call == "bounds" {
		horizon, _ = strconv.Atoi(words[0])
		words = words[1:]
	}
	var numbers []float64
	for _, word := range words {
		numbers = append(numbers, numberOf(word))
	}
	n := p.learner.Inputs()
	if n > len(numbers) {
		n = len(numbers)
	}
	x, d := numbers[:n], numbers[n:]
	var now []float64
	var all Bounded
	var report Report
	var experts []Expert
	var err error
	switch call {
	case "predict":
		now, err = p.learner.Predict(x)
	case "interval":
		all, err = p.learner.Interval(x)
		now = append(all.Low, all.High...)
	case "surprise":
		now, err = p.learner.Surprise(x, d)
	case "forecast":
		now, err = p.learner.Forecast(horizon, numbers)
	case "bounds":
		all, err = p.learner.ForecastBounds(horizon, numbers)
		now = append(append(all.Values, all.Low...), all.High...)
	case "weights":
		experts, err = p.learner.Experts()
		for _, expert := range experts {
			now = append(now, expert.Weight)
		}
	case "snapshot":
		bytes, failed := p.learner.Snapshot()
		p.must(failed)
		p.equal(checksum(bytes), strings.TrimSpace(after))
		return
	case "learn", "advance":
		if call == "learn" {
			report, err = p.learner.Learn(x, d)
		} else {
			report, err = p.learner.Advance(x)
		}
		p.must(err)
		p.equal(fmt.Sprintf("%s %d %d %d %d", textOf(report.CovarianceTrace), report.Status, report.Experts,
			report.Applied, report.Rejected), strings.TrimSpace(after))
		return
	default:
		p.Fatalf("line %d: %s?", p.line, call)
	}
	p.must(err)
	var said []string
	for _, v := range now {
		said = append(said, textOf(v))
	}
	p.equal(strings.Join(said, " "), strings.TrimSpace(after))
}

func numberOf(word string) float64 {
	if word == "nan" {
		return math.NaN()
	}
	bits, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		panic(err)
	}
	return math.Float64frombits(bits)
}

func textOf(v float64) string {
	if math.IsNaN(v) {
		return "nan"
	}
	return fmt.Sprintf("%016x", math.Float64bits(v))
}

func checksum(bytes []byte) string {
	sum := uint64(0xcbf29ce484222325)
	for _, b := range bytes {
		sum = (sum ^ uint64(b)) * 0x100000001b3
	}
	return fmt.Sprintf("%d %016x", len(bytes), sum)
}

func TestErrors(t *testing.T) {
	fails := func(err error, code Code) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.Code != code || len(e.Message) < 5 {
			t.Fatalf("%v is not an error of code %d", err, code)
		}
	}
	_, err := NewLearner("autoo", 1, 1, Options{})
	fails(err, Invalid)
	_, err = NewLearner("auto", -1, 1, Options{})
	fails(err, Invalid)
	_, err = NewLearner("auto", 1, 1, Options{Interval: 2})
	fails(err, Invalid)
	_, err = LoadLearner([]byte("no snapshot"))
	fails(err, Snapshot)
	_, err = LoadLearner(nil)
	fails(err, Snapshot)
	_, err = NewStream(`{"lerner":1}`, JSON)
	fails(err, Invalid)
	_, err = Describe(nil)
	fails(err, Snapshot)

	learner, err := NewLearner("rls", 2, 1, Options{Seed: 3, Unscaled: true, Surprise: true, Horizon: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = learner.Predict([]float64{1})
	fails(err, Invalid)
	_, err = learner.Learn([]float64{1, math.NaN()}, []float64{1})
	fails(err, Unusable)
	_, err = learner.Interval([]float64{1, 2})
	fails(err, Invalid)
	_, err = learner.Forecast(1<<60, nil)
	fails(err, Invalid)
	fails(learner.ExpectPeriods(24, 12), Invalid)
	learner.Close()
	_, err = learner.Predict([]float64{1, 2})
	fails(err, Invalid)
	_, err = learner.Save()
	fails(err, Invalid)
	learner.Close()
}

func TestManyGoroutinesWithLearnersOfTheirOwn(t *testing.T) {
	done := make(chan error)
	for k := 0; k < 8; k++ {
		go func() {
			learner, err := NewLearner("rls", 1, 1, Options{})
			for t := 0; t < 200 && err == nil; t++ {
				_, err = learner.Learn([]float64{float64(t)}, []float64{2})
			}
			done <- err
		}()
	}
	for k := 0; k < 8; k++ {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
