'use strict';
// Predict a stream one sample ahead, learning from every sample: examples/live_stream of kalstream, in JavaScript.
const { Learner } = require('..');

const signalAt = (t) => 0.6 * Math.sin((2 * 3.14159265358979 * t) / (t < 2000 ? 25 : 16));

const learner = new Learner('auto', { inputs: 1 }); // nothing to tune
let squaredError = 0;
let squaredNaive = 0;
for (let t = 0; t < 4000; ++t) {
  const x = signalAt(t);
  const d = signalAt(t + 1);
  const [dHat] = learner.predict([x]); // before the target is known …
  learner.learn([x], [d]); //             … and after
  squaredError += (d - dHat) ** 2;
  squaredNaive += (d - x) ** 2;
  if (t % 500 === 499) {
    const [error, naive] = [squaredError, squaredNaive].map((sum) => Math.sqrt(sum / 500).toFixed(3));
    console.log(`after ${String(t + 1).padStart(4)} samples: error ${error}, predicting no change ${naive}`);
    squaredError = squaredNaive = 0;
  }
}
