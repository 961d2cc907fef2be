// The rules of docs/data.md: from a first record to a schema.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "kalstream/schema.h"
#include "schema/record.h"

namespace kalstream {

/// Fields that cannot be settled, with a message that says what to do, and no place: the caller
/// knows it.
struct SchemaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether a record says enough about its stream: not if it has no value at all, or but an id and a
/// target, which are those of another record.
bool can_settle(const Record& record, const FieldChoice& choice);

/// The schema of a stream that begins with this record. Throws SchemaError.
Schema settle(const Record& first, const FieldChoice& choice);

/// The schema of a stream whose learner has learnt from another: inputs and targets are those of
/// `before`, by name and in its order; what there is beyond them is left out. Throws SchemaError,
/// naming both sides, if the record lacks one of them or the user chooses others.
Schema settle_as(const Schema& before, const Record& first, const FieldChoice& choice);

/// Of a stream that goes on after a pause: throws SchemaError, naming both sides, if the user
/// chooses other fields than the schema has …
void require_choice(const Schema& schema, const FieldChoice& choice);
/// … or if a record lacks fields and has others in their place.
void require_fields(const Schema& schema, const Record& record);

/// What a person should know of how the fields were understood: what was left out, and guesses that
/// could be wrong. A line each.
std::vector<std::string> remarks(const Schema& schema);

}  // namespace kalstream
