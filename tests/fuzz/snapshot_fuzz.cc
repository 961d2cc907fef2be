#include "life.h"

KALSTREAM_FUZZ(snapshot) { kalstream::fuzz::expect_loads_or_refuses(bytes); }
