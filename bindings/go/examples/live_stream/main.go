// Predict a stream one sample ahead, learning from every sample: examples/live_stream of kalstream, in Go.
package main

import (
	"fmt"
	"log"
	"math"

	"kalstream"
)

func signalAt(t int) float64 {
	period := 25.0
	if t >= 2000 {
		period = 16
	}
	return 0.6 * math.Sin(2*3.14159265358979*float64(t)/period)
}

func main() {
	learner, err := kalstream.NewLearner("auto", 1, 1, kalstream.Options{}) // nothing to tune
	if err != nil {
		log.Fatal(err)
	}
	var squaredError, squaredNaive float64
	for t := 0; t < 4000; t++ {
		x, d := signalAt(t), signalAt(t+1)
		dHat, err := learner.Predict([]float64{x}) // before the target is known …
		if err != nil {
			log.Fatal(err)
		}
		if _, err := learner.Learn([]float64{x}, []float64{d}); err != nil { // … and after
			log.Fatal(err)
		}
		squaredError += (d - dHat[0]) * (d - dHat[0])
		squaredNaive += (d - x) * (d - x)
		if t%500 == 499 {
			fmt.Printf("after %4d samples: error %.3f, predicting no change %.3f\n", t+1,
				math.Sqrt(squaredError/500), math.Sqrt(squaredNaive/500))
			squaredError, squaredNaive = 0, 0
		}
	}
}
