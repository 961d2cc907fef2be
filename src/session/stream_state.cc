#include "session/stream_state.h"

#include "core/envelope.h"

namespace kalstream {

Bytes stream_state(const ExchangePlace& place, Engine& engine) {
  Bytes state;
  Archive to(state);
  append_text(state, [&] { place(to); });
  engine.exchange(to);
  return state;
}

void restore(const Checkpoint& checkpoint, const ExchangePlace& exchange_place, Engine& engine) {
  Archive from = stream_of(checkpoint);
  std::string_view place;
  from.text(place);
  Archive there(as_bytes(place));
  exchange_place(there);
  engine.exchange(from);
  from.require(from.left() == 0);
  if (!checkpoint.model.empty())
    engine.set_only_model(model_of(checkpoint, &engine.options().model));
}

}  // namespace kalstream
