package kalstream_test

// The examples of README.md.

import (
	"fmt"
	"log"
	"math"
	"strings"

	"kalstream"
)

func Example() {
	learner, err := kalstream.NewLearner("auto", 1, 1, kalstream.Options{Interval: 0.9})
	if err != nil {
		log.Fatal(err)
	}
	defer learner.Close()
	var off float64
	for t := 0; t < 200; t++ {
		x := []float64{math.Sin(0.25 * float64(t))}
		d := []float64{math.Sin(0.25 * float64(t+1))}
		bounded, err := learner.Interval(x) // before the target is known …
		if err != nil {
			log.Fatal(err)
		}
		if _, err := learner.Learn(x, d); err != nil { // … and after
			log.Fatal(err)
		}
		off = math.Abs(bounded.Values[0] - d[0])
	}
	fmt.Println(off < 0.1)
	// Output: true
}

func ExampleStream() {
	settings := `{"target":"load","key":"site","learner":"rls"}`
	stream, err := kalstream.NewStream(settings, kalstream.AsRecords)
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	answer, err := stream.Take(`{"site":"A","temp":21.5,"load":310}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.HasPrefix(answer, `{"sample":1,"key":"A","status":"learnt"`))
	// Output: true
}
