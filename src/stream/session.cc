#include "stream/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "config/settings.h"
#include "core/archive.h"
#include "core/envelope.h"
#include "io/atomic_file.h"
#include "io/snapshot_file.h"
#include "kalstream/version.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto publish_every = 1s;
constexpr double recent = 1000;  // samples

std::string place_of(const std::string& source, std::uint64_t line) {
  return fmt::format("{}:{}", source, line);
}

// How many threads share the work changes no answer, and older checkpoints do not say.
std::string without_threads(std::string_view recipe) {
  std::string text(recipe);
  if (const std::size_t at = text.find(" threads="); at != std::string::npos)
    text.erase(at, text.find(' ', at + 1) - at);
  return text;
}

}  // namespace

StreamSession::StreamSession(StreamOptions options)
    : options_(std::move(options)),
      source_(options_.follow.empty()
                  ? LineSource(options_.in, signals_.descriptor(), SampleReader::longest_line)
                  : LineSource(options_.follow, signals_.descriptor(), SampleReader::longest_line)),
      source_name_(options_.follow.empty() ? "standard input" : options_.follow),
      reader_(source_name_, options_.fields) {
  if (!options_.checkpoint.empty()) {
    if (has_keys()) fs::create_directories(options_.checkpoint);
    const bool there = fs::exists(stream_file());
    if (there && !options_.resume)
      throw std::invalid_argument(
          fmt::format("--checkpoint {}: there is one already; go on from it with --resume, or name "
                      "another file",
                      stream_file().string()));
    require_writable(stream_file());
    if (there)
      go_on();
    else if (has_keys())
      write_checkpoint();  // of the beginning: models may go to disk before the next
  }
  if (options_.metrics_port) server_ = std::make_unique<MetricsServer>(*options_.metrics_port);
  if (!options_.metrics_file.empty()) require_writable(options_.metrics_file);
}

fs::path StreamSession::stream_file() const {
  return has_keys() ? options_.checkpoint / "stream.kal" : options_.checkpoint;
}

// From the checkpoint. A damaged one is refused, and the one before it named.
void StreamSession::go_on() {
  const fs::path file = stream_file();
  try {
    const auto bytes = read_bytes(file);
    const Checkpoint checkpoint = checkpoint_of(bytes);
    Archive from = stream_of(checkpoint);
    exchange(from);
    from.require(from.left() == 0);
    if (reader_.settled()) {
      begin();
      if (!checkpoint.model.empty()) models_->put("", model_of(checkpoint, &options_.model));
    }
  } catch (const SnapshotError& error) {
    const std::string previous = file.string() + ".previous";
    throw SnapshotError(fmt::format(
        "{}: {}{}", file.string(), error.what(),
        fs::exists(previous)
            ? fmt::format("; the one before it is {}: copy it over this one to go on from there",
                          previous)
            : ""));
  }
  samples_at_checkpoint_ = samples_at_publication_ = counts_.samples;
  const bool same = source_.go_on();
  replays_ = same || options_.replay;
  if (!same && options_.replay) {
    lines_to_pass_ = counts_.lines;
    counts_.lines = 0;
  }
  options_.say(fmt::format("going on after {} samples from {}{}", counts_.samples, file.string(),
                           same ? fmt::format(", in {} at line {}", source_name_, counts_.lines + 1)
                           : options_.replay ? fmt::format(", at line {}", lines_to_pass_ + 1)
                           : source_.is_file()
                               ? fmt::format("; {} is another file than then", source_name_)
                               : ""));
}

void StreamSession::exchange(Archive& archive) {
  counts_.exchange(archive);
  source_.exchange(archive);
  reader_.exchange(archive);
  if (archive.reading() && reader_.settled() && reader_.has_key() != has_keys())
    throw SnapshotError(reader_.has_key() ? "it is of a stream with keys; give --key"
                                          : "it is of a stream without keys; leave --key away");
  // The learner, to be compared with what the options say.
  std::string_view recipe;
  const std::string own = reader_.settled() ? recipe_text() : "";
  if (!archive.reading()) recipe = own;
  archive.text(recipe);
  if (without_threads(recipe) != without_threads(own))
    throw SnapshotError(
        fmt::format("its learner is another than the options say; use the same "
                    "options as before, or another checkpoint\n  there: {}\n  here:  {}",
                    recipe, own));
  bool scored = score_.has_value();
  archive.flag(scored);
  if (archive.reading() && scored) score_.emplace(reader_.outputs());
  if (scored) score_->exchange(archive);
  archive.count(intervals_);
  archive.count(held_, intervals_);
  archive.number(recent_held_, Archive::fraction);
}

// Of a learner that is made once, to know what the options come to.
const std::string& StreamSession::recipe_text() {
  if (!recipe_text_.empty()) return recipe_text_;
  const auto learner = options_.make(reader_.inputs(), reader_.outputs());
  const Recipe& recipe = *learner->recipe();
  recipe_text_ = name_of(recipe.options.rule);
  if (recipe.scaled) recipe_text_ += " scaled";
  for (const Setting& s : settings_of(recipe.options))
    recipe_text_ += fmt::format(" {}={}", s.key, s.value);
  return recipe_text_;
}

// The first sample has come, or is known from a checkpoint: what the stream is made of is settled.
void StreamSession::begin() {
  const std::size_t inputs = reader_.inputs();
  const std::size_t outputs = reader_.outputs();
  const auto make = [this, inputs, outputs] { return options_.make(inputs, outputs); };
  recipe_text();  // complains now, if at all
  models_.emplace(
      make, options_.model,
      has_keys() && !options_.checkpoint.empty() ? options_.checkpoint / "models" : fs::path(),
      has_keys() ? options_.max_models : 1);
  if (!score_) score_.emplace(outputs);
  const bool json = options_.json_answers.value_or(reader_.format() == SampleFields::Format::json);
  answers_ = AnswerWriter({.json = json,
                           .keys = has_keys(),
                           .held = options_.fields.partial,
                           .intervals = options_.model.coverage > 0,
                           .horizon = options_.model.horizon,
                           .targets = reader_.target_names()});
  WatchOptions watching;
  if (options_.model.coverage > 0) watching.nominal_coverage = options_.model.coverage;
  if (!has_keys()) watch_.emplace(reader_.input_names(), watching);
}

void StreamSession::run() {
  try {
    loop();
  } catch (const std::runtime_error&) {
    try_checkpoint();
    throw;
  }
  if (!options_.checkpoint.empty()) write_checkpoint();
  publish();
  if (const std::string rest = notices_.rest(); !rest.empty())
    options_.say(rest.substr(0, rest.size() - 1));
  if (counts_.lines > 0 && counts_.samples == 0)
    throw DataError(
        fmt::format("{}: there is not one sample in {} lines", source_name_, counts_.lines));
}

void StreamSession::loop() {
  publish();
  while (!signals_.stop()) {
    const auto event = source_.next(200ms);
    if (event == LineSource::Event::end) return;
    if (event == LineSource::Event::line) take(source_.line());
    if (!output_failure_.empty())
      throw std::runtime_error("the answers cannot be written: " + output_failure_);
    if (signals_.take_hang_up()) try_checkpoint();
    look_at_clock();
  }
}

void StreamSession::take(std::string_view line) {
  const auto begin_time = Clock::now();
  ++counts_.lines;
  if (counts_.lines <= lines_to_pass_) return;
  try {
    sample_ = &reader_.read(line, counts_.lines);
  } catch (const DataError& error) {
    return refuse(error.what());
  }
  if (sample_->kind == Sample::Kind::nothing) return;
  if (!models_) {
    begin();
    if (!reader_.expected_later().empty())
      options_.say(fmt::format("no target in the first sample: {} may come later",
                               fmt::join(reader_.expected_later(), ", ")));
    if (!reader_.ignored().empty())
      options_.say(
          fmt::format("not numbers, and so no inputs: {}", fmt::join(reader_.ignored(), ", ")));
  }
  StreamModel* model = nullptr;
  try {
    model = &models_->of(sample_->key);
  } catch (const std::runtime_error& error) {
    return refuse(fmt::format("{}: {}", place_of(source_name_, counts_.lines), error.what()));
  }
  if (is_known(*model)) {
    ++(sample_->d.empty() ? counts_.missing : counts_.learnt);
    counts_.samples += sample_->kind == Sample::Kind::inputs ? 1 : 0;
    counts_.held += sample_->missing;
    return;
  }
  if (sample_->kind == Sample::Kind::inputs && !model->complete(sample_->x))
    return refuse(
        fmt::format("{}: no number has come yet for {}, so there is none to hold; lines "
                    "are refused until one has",
                    place_of(source_name_, counts_.lines), reader_.missing_inputs()));
  counts_.held += sample_->missing;
  model->take(*sample_, *this);
  model->line = counts_.lines;
  if (watch_ && sample_->kind == Sample::Kind::inputs) warn(watch_->look_at_inputs(sample_->x));
  latency_.record(std::chrono::duration<double>(Clock::now() - begin_time).count());
}

// Where lines come again that were taken before a crash, a model that went to disk after the
// checkpoint may have seen them.
bool StreamSession::is_known(const StreamModel& model) const {
  return replays_ && counts_.lines <= model.line;
}

void StreamSession::refuse(const std::string& reason) {
  ++counts_.refused;
  if (options_.strict) throw DataError(reason);
  warn(Warning::refused_line, reason);
  const std::string& answer = answers_.refusal(counts_.lines, reason);
  if (!answer.empty()) write_out(answer);
}

void StreamSession::answered(const Answer& answer) {
  if (answer.status == Answer::Status::late) {
    ++counts_.late;
    warn(
        Warning::late_label,
        fmt::format("{}: no sample {} waits for a target: it is unknown, has one, or is older than "
                    "--max-delay {}",
                    place_of(source_name_, counts_.lines), sample_->id, options_.model.max_delay));
  } else if (answer.status != Answer::Status::labelled) {
    ++counts_.samples;
  }
  write_out(answers_.answer(*sample_, answer));
}

void StreamSession::scored(std::span<const double> d_hat, std::span<const Interval> interval,
                           std::span<const double> d) {
  score_->add(d_hat, d);
  if (watch_) warn(watch_->look_at_error(d_hat, d));
  for (std::size_t k = 0; k < interval.size(); ++k) {
    if (std::isnan(interval[k].low)) continue;
    const bool held = d[k] >= interval[k].low && d[k] <= interval[k].high;
    ++intervals_;
    held_ += held ? 1 : 0;
    const double share = std::max(1 / recent, 1 / static_cast<double>(intervals_));
    recent_held_ += share * ((held ? 1 : 0) - recent_held_);
    if (watch_) warn(watch_->look_at_interval(held));
  }
}

void StreamSession::stepped(const StepReport& report) {
  covariance_trace_ = report.covariance_trace;
  switch (report.status) {
    case StepStatus::missing:
      ++counts_.missing;
      break;
    case StepStatus::gated:
      ++counts_.learnt;
      ++counts_.gated;
      break;
    case StepStatus::applied:
      ++counts_.learnt;
      break;
    default:
      ++counts_.rejected;
      warn(Warning::rejected_update,
           fmt::format("{}: the learner could not use the sample: {}",
                       place_of(source_name_, counts_.lines), to_string(report.status)));
  }
}

void StreamSession::warn(Warning kind, std::string_view text) {
  if (const auto line = notices_.add(kind, text, Clock::now())) options_.say(*line);
}

void StreamSession::warn(Watch::Findings findings) {
  for (const Finding& f : findings)
    warn(f.kind, fmt::format("{}: {}", place_of(source_name_, counts_.lines), f.text));
}

// All of it, whatever the reader's pace; a reader that does not read must not keep the stream from
// stopping. That it is gone is noted for later: the sample has to be learnt first.
void StreamSession::write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(options_.out, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno != EINTR && errno != EAGAIN) output_failure_ = std::strerror(errno);
    if (signals_.stop() || !output_failure_.empty()) return;
    std::array<pollfd, 2> of{pollfd{options_.out, POLLOUT, 0},
                             pollfd{signals_.descriptor(), POLLIN, 0}};
    ::poll(of.data(), of.size(), -1);
  }
}

void StreamSession::look_at_clock() {
  const auto now = Clock::now();
  const bool changed = counts_.lines != lines_at_checkpoint_;
  const bool due = options_.every_samples > 0
                       ? counts_.samples - samples_at_checkpoint_ >= options_.every_samples
                       : now - last_checkpoint_ >= options_.every && changed;
  if (due) try_checkpoint();
  if (now - last_publication_ < publish_every) return;
  publish();
  if (const std::string text = notices_.due(now); !text.empty())
    options_.say(text.substr(0, text.size() - 1));
}

// Models first: a stream file never speaks of lines that its models do not know.
void StreamSession::write_checkpoint() {
  Checkpoint checkpoint;
  Archive to(checkpoint.stream);
  exchange(to);
  if (models_ && has_keys()) models_->write();
  if (models_ && !has_keys() && models_->only() != nullptr)
    checkpoint.model = models_->only()->to_bytes();
  write_file_and_keep(stream_file(), as_text(to_bytes(checkpoint)));
  ++checkpoints_;
  note_checkpoint();
}

void StreamSession::note_checkpoint() {
  samples_at_checkpoint_ = counts_.samples;
  lines_at_checkpoint_ = counts_.lines;
  last_checkpoint_ = Clock::now();
}

// The stream goes on without; the checkpoint before stays as it is.
void StreamSession::try_checkpoint() {
  if (options_.checkpoint.empty()) return;
  try {
    write_checkpoint();
  } catch (const std::exception& error) {
    ++failed_checkpoints_;
    note_checkpoint();  // the next try when the next one is due
    warn(Warning::failed_checkpoint, fmt::format("no checkpoint: {}", error.what()));
  }
}

void StreamSession::publish() {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_publication_).count();
  if (seconds > 0)
    samples_per_second_ = static_cast<double>(counts_.samples - samples_at_publication_) / seconds;
  last_publication_ = now;
  samples_at_publication_ = counts_.samples;
  if (!server_ && options_.metrics_file.empty()) return;
  std::string text = prometheus_text(status());
  if (!options_.metrics_file.empty()) {
    try {
      replace_file(options_.metrics_file, text);
    } catch (const std::exception& error) {
      warn(Warning::failed_checkpoint, error.what());
    }
  }
  if (server_) server_->publish(std::move(text));
}

StreamStatus StreamSession::status() const {
  const auto now = Clock::now();
  const auto seconds_since = [&](Clock::time_point t) {
    return std::chrono::duration<double>(now - t).count();
  };
  StreamStatus s;
  s.version = version();
  s.uptime_seconds = seconds_since(started_);
  s.lines_read = counts_.lines;
  s.lines_refused = counts_.refused;
  s.samples_predicted = counts_.samples;
  s.targets_learnt = counts_.learnt;
  s.targets_missing = counts_.missing;
  s.labels_late = counts_.late;
  s.updates_gated = counts_.gated;
  s.updates_rejected = counts_.rejected;
  s.inputs_held = counts_.held;
  s.checkpoints_written = checkpoints_;
  s.checkpoint_failures = failed_checkpoints_;
  if (checkpoints_ > 0) s.seconds_since_checkpoint = seconds_since(last_checkpoint_);
  if (score_) {
    s.errors = score_->all();
    s.recent_errors = score_->recent();
  }
  if (options_.model.coverage > 0) s.coverage_nominal = options_.model.coverage;
  if (intervals_ > 0) {
    s.coverage = static_cast<double>(held_) / static_cast<double>(intervals_);
    s.coverage_recent = recent_held_;
  }
  s.latency = latency_.summary();
  s.samples_per_second = samples_per_second_;
  s.covariance_trace = covariance_trace_;
  s.resident_bytes = resident_bytes();
  s.warnings = notices_.counts();
  if (!models_) return s;
  s.labels_pending = models_->pending();
  s.models_in_memory = models_->in_memory();
  s.models_on_disk = models_->on_disk();
  s.evictions = models_->evictions();
  if (const StreamModel* model = models_->only(); model != nullptr) {
    const LearnerOptions& learner = model->learner().recipe()->options;
    s.learner = name_of(learner.rule);
    if (!has_keys()) {
      s.expert_names = expert_names(learner);
      s.expert_weights = model->expert_weights();
    }
  }
  return s;
}

}  // namespace kalstream
