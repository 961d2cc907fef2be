// Checkpoints of formats 1 and 2, which knew fields by place and name but had no schema.
#pragma once

#include "core/archive.h"
#include "kalstream/schema.h"
#include "schema/dialect.h"

namespace kalstream {

struct OldFields {
  Dialect dialect;
  Schema schema;  ///< empty: nothing was settled
};

OldFields old_fields(Archive& archive);

}  // namespace kalstream
