// `kalstream run` where the target is a class.
#pragma once

#include "run_arguments.h"

namespace kalstream::cli {

/// Predicts the file's rows one after the other and learns them, as `kalstream stream` does, with
/// every learner and seed; shows how good the probabilities were.
void run_classes(const RunArguments& arguments);

}  // namespace kalstream::cli
