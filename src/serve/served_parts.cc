#include "serve/served_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "learner/footprint.h"
#include "stores/file_store.h"
#include "stores/folder_store.h"

namespace kalstream::serve {
namespace {

/// A learner that would take more memory than there is left is refused before it is made.
EngineOptions limited(EngineOptions options, const StreamSurroundings& around) {
  options.max_models = around.max_models;
  options.memory = around.memory;
  options.recipe = [make = std::move(options.recipe), around](std::size_t inputs,
                                                              std::size_t outputs) {
    Recipe recipe = make(inputs, outputs);
    recipe.options.validate();
    const double needed = footprint(recipe.options).bytes;
    const double left = static_cast<double>(around.memory) -
                        static_cast<double>(std::min(around.memory, around.memory_used()));
    if (around.memory != ModelLimits::none && needed > left)
      throw std::invalid_argument(
          fmt::format("the learner would take {:.0f} MiB, and {:.0f} MiB are left of --memory; "
                      "choose a smaller "
                      "one, delete streams, or allow for more",
                      needed / 0x1p20, left / 0x1p20));
    return recipe;
  };
  return options;
}

std::unique_ptr<StateStore> open_store(const StreamSettings& settings, const std::string& folder,
                                       System& system) {
  if (settings.fields.key.empty())
    return std::make_unique<FileStore>(folder + "/state.kal", system);
  return std::make_unique<FolderStore>(folder + "/models", system);
}

}  // namespace

ServedStream::Parts::Parts(ServedStream& stream, const std::function<void(const std::string&)>& say)
    : log(stream.folder_, stream.around_.sync, *stream.around_.system),
      source(stream.name()),
      position{source.name()},
      monitor({.say = say, .observer = &stream}, source, position),
      store(open_store(stream.settings_, stream.folder_, *stream.around_.system)),
      engine(limited(engine_options(stream.settings_, say), stream.around_), store.get(),
             {&stream, &monitor}),
      session(engine, position, Session::Header::door),
      checkpoints(source, engine, *store, stream.around_.cadence) {}

}  // namespace kalstream::serve
