#include "kalstream/report.h"

#include "kalstream/version.h"

namespace kalstream {

const char* to_string(StepStatus status) {
  switch (status) {
    case StepStatus::applied:
      return "applied";
    case StepStatus::gated:
      return "gated";
    case StepStatus::missing:
      return "missing target";
    case StepStatus::rejected_input:
      return "rejected: unusable input or target";
    case StepStatus::rejected_non_finite:
      return "rejected: would become non-finite";
    default:
      return "rejected: covariance would become indefinite";
  }
}

const char* version() { return KALSTREAM_VERSION; }

}  // namespace kalstream
