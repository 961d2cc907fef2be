// The rules of docs/data.md: from a first record to a schema.
#pragma once

#include <stdexcept>
#include <string>

#include "kalstream/schema.h"
#include "schema/record.h"

namespace kalstream {

/// A record that the fields cannot be settled with, with a message that says what to do, and no
/// place: the caller knows it.
struct SchemaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether a record says enough about its stream: not if it holds but the target of another, an id
/// and a target, or no number at all.
bool can_settle(const Record& record, const FieldChoice& choice);

/// The schema of a stream that begins with this record. Throws SchemaError.
Schema settle(const Record& first, const FieldChoice& choice);

/// The schema of a stream that goes on with what was learnt from another: its inputs and targets, by
/// name. Throws SchemaError, naming both sides, if the record is a row that lacks one of them, or if
/// the choice contradicts it.
Schema settle_as(const Schema& before, const Record& first, const FieldChoice& choice);

/// Throws SchemaError, naming both sides, if the user chooses other fields than there are in the
/// schema.
void require_choice(const Schema& schema, const FieldChoice& choice);

}  // namespace kalstream
