#include "view/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace kalstream::view {
namespace {

const std::string kErase = "\r\x1b[2K";
constexpr std::int64_t kInterval = 100;  // milliseconds between two drawings

std::string timing(const ProgressState& state) {
  // A rate measured over less than this is no basis for an estimate.
  constexpr double settled = 0.5;
  std::string text = format_seconds(std::floor(state.seconds));
  if (state.done > 0 && state.done < state.total && state.seconds >= settled) {
    const double rest = static_cast<double>(state.total - state.done);
    const double left = state.seconds * rest / static_cast<double>(state.done);
    text += ", " + format_seconds(std::ceil(left)) + " left";
  }
  return text;
}

}  // namespace

bool is_terminal(std::FILE* stream) { return stream != nullptr && isatty(fileno(stream)) == 1; }

std::size_t terminal_width(std::FILE* stream) {
  constexpr std::size_t fallback = 80;
  winsize size{};
  if (stream == nullptr || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return fallback;
  return size.ws_col;
}

std::string filled_bar(double fraction, std::size_t width) {
  constexpr std::array eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double share = fraction > 0 ? std::min(fraction, 1.0) : 0;  // NaN is nothing too
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(8 * width));
  std::string text;
  for (std::size_t i = 0; i < filled / 8; ++i) text += "█";
  return text + eighths[filled % 8];
}

std::string progress_line(const ProgressState& state, std::size_t width) {
  constexpr std::size_t widest_bar = 30;
  constexpr std::size_t narrowest_bar = 6;

  const std::string before = state.label.empty() ? "" : state.label + ' ';
  const double total = static_cast<double>(std::max<std::size_t>(state.total, 1));
  const double fraction = std::min(static_cast<double>(state.done) / total, 1.0);
  std::string after = fmt::format("{:3.0f} %  {}", std::floor(100 * fraction), timing(state));
  if (!state.note.empty()) after += "  " + state.note;

  // The bar takes what the texts leave; when that is too little, the note gives way first.
  constexpr std::size_t frame = 3;  // two edges and a blank
  const std::size_t least = display_width(before) + frame + narrowest_bar;
  if (least >= width) return shorten(before + after, width);
  after = shorten(after, width - least);
  const std::size_t room = width - display_width(before) - frame - display_width(after);
  const std::size_t length = std::min(room, widest_bar);
  const std::string bar = filled_bar(fraction, length);
  const std::string rest(length - display_width(bar), ' ');
  return before + "▕" + bar + rest + "▏ " + after;
}

Progress::Progress(std::string label, std::size_t total, bool enabled, std::FILE* stream,
                   std::function<Clock::time_point()> now)
    : enabled_(enabled && stream != nullptr),
      now_(std::move(now)),
      stream_(stream),
      next_draw_(kInterval) {
  state_.label = std::move(label);
  state_.total = total;
}

void Progress::advance(std::size_t steps) {
  done_.fetch_add(steps, std::memory_order_relaxed);
  draw_if_due();
}

void Progress::set_note(std::string note) {
  if (!enabled_) return;
  {
    const std::lock_guard lock(mutex_);
    state_.note = std::move(note);
  }
  draw_if_due();
}

// The exchange lets exactly one thread draw; the others go on with their work.
void Progress::draw_if_due() {
  if (!enabled_) return;
  const auto elapsed = now_() - start_;
  const std::int64_t now = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count();
  std::int64_t due = next_draw_.load(std::memory_order_relaxed);
  if (now < due || !next_draw_.compare_exchange_strong(due, now + kInterval)) return;

  const std::lock_guard lock(mutex_);
  if (finished_) return;
  state_.done = done();
  state_.seconds = std::chrono::duration<double>(elapsed).count();
  // The last column stays free: some terminals wrap as soon as it is written.
  const std::string line = progress_line(state_, terminal_width(stream_) - 1);
  std::fputs((kErase + line).c_str(), stream_);
  std::fflush(stream_);
  visible_ = true;
}

void Progress::finish() {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  finished_ = true;
  if (!visible_) return;
  std::fputs(kErase.c_str(), stream_);
  std::fflush(stream_);
  visible_ = false;
}

}  // namespace kalstream::view
