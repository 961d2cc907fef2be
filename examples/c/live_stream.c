/* Predict a stream one sample ahead, learning from every sample, in C:
 *
 *   cc live_stream.c $(pkg-config --cflags --libs kalstream-c) -lm -o live_stream
 *
 * The stream is an oscillation whose frequency changes half-way; the learner sees only the present
 * value and has to find the rest in its memory. */
#include <kalstream/kalstream.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int code) {
  if (code == KALSTREAM_OK) return;
  fprintf(stderr, "live_stream: %s\n", kalstream_error());
  exit(1);
}

static double signal_at(int t) {
  const double period = t < 2000 ? 25 : 16;
  return 0.6 * sin(2 * 3.14159265358979 * t / period);
}

int main(void) {
  kalstream_learner* learner = NULL;
  double squared_error = 0;
  double squared_naive = 0;
  int t;

  check(kalstream_require_abi(KALSTREAM_ABI));
  check(kalstream_learner_new("auto", 1, 1, NULL, &learner)); /* nothing to tune */
  for (t = 0; t < 4000; ++t) {
    const double x = signal_at(t);
    const double d = signal_at(t + 1);
    double d_hat = 0;

    check(kalstream_learner_predict(learner, &x, 1, &d_hat, 1)); /* before the target is known … */
    check(kalstream_learner_learn(learner, &x, 1, &d, 1, NULL)); /* … and after */

    squared_error += (d - d_hat) * (d - d_hat);
    squared_naive += (d - x) * (d - x);
    if (t % 500 == 499) {
      printf("after %4d samples: error %.3f, predicting no change %.3f\n", t + 1,
             sqrt(squared_error / 500), sqrt(squared_naive / 500));
      squared_error = squared_naive = 0;
    }
  }
  kalstream_learner_free(learner);
  return 0;
}
