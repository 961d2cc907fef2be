#include "stream/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/envelope.h"
#include "core/hash.h"
#include "io/atomic_file.h"
#include "io/snapshot_file.h"
#include "stream/checkpoint.h"

namespace kalstream {

namespace fs = std::filesystem;

Models::Models(MakeLearner make, const ModelOptions& options, fs::path folder, std::size_t most)
    : make_(std::move(make)), options_(options), folder_(std::move(folder)), most_(most) {
  if (folder_.empty()) return;
  fs::create_directories(folder_);
  for (const auto& file : fs::directory_iterator(folder_))
    if (file.path().extension() == ".kal") ++files_;
}

std::string Models::file_name(const std::string& key) {
  constexpr std::size_t longest = 120;
  std::string name;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '_'))
      name += c;
    else
      name += fmt::format("%{:02X}", byte);
  }
  if (name.size() > longest) name = fmt::format("{}~{:016x}", name.substr(0, longest), fnv1a(key));
  return name + ".kal";
}

const StreamModel* Models::only() const {
  return models_.empty() ? nullptr : models_.front().model.get();
}

std::size_t Models::pending() const {
  std::size_t sum = 0;
  for (const Entry& e : models_) sum += e.model->pending();
  return sum;
}

void Models::put(const std::string& key, std::unique_ptr<StreamModel> model) {
  models_.push_front({key, std::move(model)});
  by_key_.emplace(key, models_.begin());
}

StreamModel& Models::of(const std::string& key) {
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    models_.splice(models_.begin(), models_, known->second);
  } else {
    if (models_.size() >= most_) make_room();
    put(key, bring_back(key));
  }
  models_.front().changed = true;
  return *models_.front().model;
}

std::unique_ptr<StreamModel> Models::bring_back(const std::string& key) {
  if (folder_.empty() || !fs::exists(path_of(key)))
    return std::make_unique<StreamModel>(make_(), options_);
  const fs::path path = path_of(key);
  try {
    const Checkpoint checkpoint = checkpoint_of(read_bytes(path));
    if (checkpoint.key != key) throw SnapshotError("it is the model of another key");
    auto model = model_of(checkpoint, &options_);
    --files_;
    return model;
  } catch (const SnapshotError& error) {
    throw SnapshotError(fmt::format("{}: {}; take the file away to begin this key anew",
                                    path.string(), error.what()));
  }
}

// A good part of them at a time, since waiting for the disk takes as long for one.
void Models::make_room() {
  if (folder_.empty())
    throw DataError(fmt::format(
        "there are {} models, and there may be no more; allow for more with --max-models, or give "
        "--checkpoint FOLDER, where those not in use can go",
        models_.size()));
  const std::size_t leave = std::max<std::size_t>(1, most_ / 32);
  FileBatch batch;
  auto first = models_.end();
  for (std::size_t k = 0; k < leave; ++k) {
    --first;
    if (first->changed)
      batch.add(path_of(first->key), as_text(to_bytes({{}, first->key, first->model->to_bytes()})));
  }
  batch.commit();
  for (auto e = first; e != models_.end(); ++e) by_key_.erase(e->key);
  models_.erase(first, models_.end());
  files_ += leave;
  evictions_ += leave;
}

void Models::write() {
  FileBatch batch;
  for (const Entry& e : models_)
    if (e.changed) batch.add(path_of(e.key), as_text(to_bytes({{}, e.key, e.model->to_bytes()})));
  batch.commit();
  for (Entry& e : models_) e.changed = false;
}

}  // namespace kalstream
