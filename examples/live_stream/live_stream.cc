// Predict a stream one sample ahead, learning from every sample.
//
// The stream is a noisy oscillation whose frequency changes half-way; the learner sees only the
// present value and has to find the rest in its memory.
#include <kalstream/learner.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  kalstream::LearnerOptions options;  // `auto`: nothing to tune
  options.network.inputs = 1;
  const auto learner = kalstream::make_learner(options);

  const auto signal = [](int t) {
    const double period = t < 2000 ? 25 : 16;
    return 0.6 * std::sin(2 * 3.14159265358979 * t / period);
  };

  double squared_error = 0;
  double squared_naive = 0;
  for (int t = 0; t < 4000; ++t) {
    const std::vector<double> x{signal(t)};
    const std::vector<double> d{signal(t + 1)};

    const double d_hat = learner->predict(x)[0];  // before the target is known …
    const auto report = learner->learn(x, d);     // … and after
    if (is_rejected(report.status)) std::printf("step %d: %s\n", t, to_string(report.status));

    squared_error += (d[0] - d_hat) * (d[0] - d_hat);
    squared_naive += (d[0] - x[0]) * (d[0] - x[0]);
    if (t % 500 == 499) {
      std::printf("after %4d samples: error %.3f, predicting no change %.3f\n", t + 1,
                  std::sqrt(squared_error / 500), std::sqrt(squared_naive / 500));
      squared_error = squared_naive = 0;
    }
  }
}
