// Streams in memory, as Python gives them or as files have them.
#pragma once

#include "arrays.h"
#include "schema/dataset.h"

namespace kalstream::python {

void bind_dataset(nb::module_& module);

}  // namespace kalstream::python
