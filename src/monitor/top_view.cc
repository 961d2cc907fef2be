#include "monitor/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "view/progress.h"
#include "view/table.h"

namespace kalstream {
namespace {

using view::display_width;
using view::format_count;
using view::format_number;
using view::format_seconds;

/// As escape sequences.
namespace style {
constexpr std::string_view plain = "";
constexpr std::string_view label = "\x1b[2m";
constexpr std::string_view strong = "\x1b[1m";
constexpr std::string_view good = "\x1b[36m";
constexpr std::string_view alarm = "\x1b[1;33m";
}  // namespace style
using Style = std::string_view;

/// A line in pieces: widths are known before escape sequences come in.
class Row {
 public:
  Row& add(std::string text, Style style = style::plain) {
    width_ += display_width(text);
    pieces_.push_back({std::move(text), style});
    return *this;
  }
  /// Blanks up to this column, at least `gap` of them.
  Row& to(std::size_t column, std::size_t gap = 1) {
    return add(std::string(std::max(column, width_ + gap) - width_, ' '));
  }
  /// So that it ends at this column.
  Row& right(const std::string& text, std::size_t column, Style style = style::plain) {
    const std::size_t own = display_width(text);
    to(column > own ? column - own : 0, width_ == 0 ? 0 : 1);
    return add(text, style);
  }
  Row& append(const Row& other) {
    for (const Piece& piece : other.pieces_) add(piece.text, piece.style);
    return *this;
  }

  std::size_t width() const { return width_; }
  bool empty() const { return pieces_.empty(); }

  std::string text(std::size_t most, bool colours) const {
    std::string line;
    std::size_t left = most;
    for (const Piece& piece : pieces_) {
      // A piece that does not fit ends in "…", one column before the end if need be.
      const std::string part = view::shorten(piece.text, left);
      const bool styled = colours && !piece.style.empty();
      line += styled ? std::string(piece.style) + part + "\x1b[0m" : part;
      left -= display_width(part);
    }
    while (line.ends_with(' ')) line.pop_back();
    return line;
  }

 private:
  struct Piece {
    std::string text;
    Style style;
  };

  std::vector<Piece> pieces_;
  std::size_t width_ = 0;
};

constexpr std::size_t label_column = 2;
constexpr std::size_t value_column = 16;  // where texts begin after a label …
constexpr std::size_t number_end = 26;    // … and where numbers end
constexpr std::size_t column_width = 38;  // of the left of two columns
constexpr std::size_t sparkline_most = 60;

std::string percent(double share) {
  return std::isnan(share) ? "n/a" : fmt::format("{:.1f} %", 100 * share);
}

Row labelled(const std::string& label) {
  return Row().to(label_column, 0).add(label, style::label);
}
/// For a text after it.
Row row_of(const std::string& label) { return labelled(label).to(value_column); }

/// All digits, so that one sees it move: "12,401,597".
std::string grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4)
    digits.insert(digits.size() - from_end, ",");
  return digits;
}

/// Of a number that should be zero.
Style alarm_if(bool is) { return is ? style::alarm : style::plain; }

std::vector<Row> counts(const StreamStatus& s) {
  std::vector<Row> rows;
  const auto add = [&](const char* label, std::uint64_t count, Style style) -> Row& {
    return rows.emplace_back(labelled(label).right(grouped(count), number_end, style));
  };
  Row& samples = add("samples", s.counts.samples, style::strong);
  if (!std::isnan(s.samples_per_second))
    samples.add(fmt::format("  {} /s", format_count(s.samples_per_second)), style::good);
  add("learnt", s.counts.learnt, style::plain);
  add("missing", s.counts.missing, style::plain);
  Row& pending = add("pending", s.labels_pending, style::plain);
  if (s.counts.late > 0)
    pending.add(fmt::format("  {} late", format_count(static_cast<double>(s.counts.late))),
                style::alarm);
  add("refused", s.counts.refused, alarm_if(s.counts.refused > 0));
  if (s.counts.anomalies > 0) add("anomalies", s.counts.anomalies, style::alarm);
  if (s.counts.alarms > 0) add("alarms", s.counts.alarms, style::alarm);
  return rows;
}

std::vector<Row> errors(const StreamStatus& s) {
  constexpr std::size_t all = 18;
  constexpr std::size_t recent = 28;
  std::vector<Row> rows;
  rows.push_back(Row().right("all", all, style::label).right("recent", recent, style::label));
  const auto add = [&](const std::string& label, double a, double b, Style style) {
    rows.push_back(Row()
                       .add(label, style::label)
                       .right(format_number(a), all, style)
                       .right(format_number(b), recent, style));
  };
  if (!std::isnan(s.classes.log_loss)) {
    add("log loss", s.classes.log_loss, s.classes.recent_log_loss, style::strong);
    add("accuracy", s.classes.accuracy, s.classes.recent_accuracy, style::plain);
  } else {
    add("NSE", s.errors.nse, s.recent_errors.nse, style::strong);
    add("RMSE", s.errors.rmse, s.recent_errors.rmse, style::plain);
    add("MAE", s.errors.mae, s.recent_errors.mae, style::plain);
  }
  if (!std::isnan(s.coverage_nominal)) {
    // Misses twice or half as often as they should are worth a look.
    const double ratio = (1 - s.coverage_recent) / (1 - s.coverage_nominal);
    const bool off = ratio > 2 || ratio < 0.5;
    rows.push_back(Row()
                       .add("coverage", style::label)
                       .right(percent(s.coverage), all)
                       .right(percent(s.coverage_recent), recent, alarm_if(off))
                       .add(fmt::format("  of {:.4g} %", 100 * s.coverage_nominal), style::label));
  }
  return rows;
}

/// One beside the other where there is room, else one below the other.
void add_columns(std::vector<Row>& rows, const std::vector<Row>& left,
                 const std::vector<Row>& right, std::size_t width) {
  std::size_t widest = 0;
  for (const Row& row : right) widest = std::max(widest, row.width());
  if (column_width + widest > width) {
    rows.insert(rows.end(), left.begin(), left.end());
    rows.emplace_back();
    for (const Row& row : right) rows.push_back(Row().to(label_column, 0).append(row));
    return;
  }
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    Row row = i < left.size() ? left[i] : Row();
    if (i < right.size()) row.to(column_width).append(right[i]);
    rows.push_back(row);
  }
}

Row history(const TopContext& context, std::size_t width) {
  const std::size_t room = std::min(sparkline_most, width > 50 ? width - 50 : 10);
  const auto& past = context.past_errors;
  const std::size_t n = std::min(room, past.size());
  double low = INFINITY;
  double high = -INFINITY;
  for (std::size_t i = past.size() - n; i < past.size(); ++i) {
    low = std::fmin(low, past[i]);
    high = std::fmax(high, past[i]);
  }
  if (n < 2 || !(low <= high)) return {};
  return row_of("recent RMSE")
      .add(sparkline(past, room), style::good)
      .add(fmt::format("  {} to {}", format_number(low, 3), format_number(high, 3)))
      .add(fmt::format(" in {}", format_seconds(context.every * static_cast<double>(n - 1))),
           style::label);
}

Row latency(const LatencySummary& l) {
  Row row = row_of("latency");
  const auto add = [&](const char* name, double seconds) {
    row.add(name, style::label).add(" " + format_seconds(seconds) + "  ");
  };
  add("p50", l.p50);
  add("p90", l.p90);
  add("p99", l.p99);
  add("p99.9", l.p999);
  add("max", l.max);
  return row;
}

/// A number, or nothing, with what it is of.
struct Part {
  std::string number;
  std::string what;
  Style style = style::plain;
};
Part counted(std::uint64_t count, const std::string& what, Style style = style::plain) {
  return {format_count(static_cast<double>(count)), what, style};
}

/// "12 written   0 failed"
Row row_of(const std::string& label, const std::vector<Part>& parts) {
  Row row = row_of(label);
  for (const Part& part : parts)
    row.add(part.number, part.style).add(" " + part.what + "   ", style::label);
  return row;
}

Row updates(const StreamStatus& s) {
  Row row =
      row_of("updates", {counted(s.counts.gated, "gated"),
                         counted(s.counts.rejected, "rejected", alarm_if(s.counts.rejected > 0))});
  if (!std::isnan(s.covariance_trace))
    row.add("Tr P ", style::label).add(format_number(s.covariance_trace));
  return row;
}

Row checkpoints(const StreamStatus& s) {
  std::vector<Part> parts = {
      counted(s.checkpoints_written, "written"),
      counted(s.checkpoint_failures, "failed", alarm_if(s.checkpoint_failures > 0))};
  if (!std::isnan(s.seconds_since_checkpoint))
    parts.push_back({format_seconds(std::floor(s.seconds_since_checkpoint)), "ago"});
  return row_of("checkpoints", parts);
}

Row models(const StreamStatus& s) {
  std::vector<Part> parts = {counted(s.models_in_memory, "in memory")};
  if (s.models_packed > 0) parts.push_back(counted(s.models_packed, "packed"));
  parts.push_back(counted(s.models_on_disk, "on disk"));
  parts.push_back(counted(s.evictions, "evicted"));
  if (s.resident_bytes > 0) parts.push_back({format_bytes(s.resident_bytes), "resident"});
  return row_of("models", parts);
}

Row warnings(const StreamStatus& s) {
  Row row = row_of("warnings");
  bool any = false;
  for (std::size_t k = 0; k < warning_kinds; ++k) {
    if (s.warnings[k] == 0) continue;
    std::string name = to_string(static_cast<Warning>(k));
    std::ranges::replace(name, '_', ' ');
    row.add(format_count(static_cast<double>(s.warnings[k])), style::alarm).add(" " + name + "   ");
    any = true;
  }
  if (!any) row.add("none", style::label);
  return row;
}

void add_experts(std::vector<Row>& rows, const StreamStatus& s, std::size_t width,
                 std::size_t height) {
  constexpr std::size_t weight_width = 7;
  const std::size_t n = std::min(s.expert_names.size(), s.expert_weights.size());
  if (n == 0 || rows.size() + 3 > height) return;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  // A blend may give an expert less than nothing, and others more than all.
  const auto size = [&](std::size_t k) {
    return std::isnan(s.expert_weights[k]) ? 0 : std::abs(s.expert_weights[k]);
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  const double full = std::max(1.0, size(order[0]));
  rows.emplace_back();
  // The last line says how many are not shown.
  const std::size_t room = height - rows.size();
  const std::size_t shown = n <= room ? n : room - 1;
  std::size_t name_width = 0;
  for (std::size_t i = 0; i < shown; ++i)
    name_width = std::max(name_width, display_width(view::one_line(s.expert_names[order[i]])));
  name_width = std::min(name_width, std::max<std::size_t>(width / 3, value_column));
  const std::size_t bar_start =
      std::max(value_column, label_column + name_width + 2 + weight_width + 2);
  const std::size_t bar_width = width > bar_start ? width - bar_start : 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const double weight = s.expert_weights[order[i]];
    const std::string name = view::shorten(view::one_line(s.expert_names[order[i]]), name_width);
    rows.push_back(labelled(name)
                       .right(fmt::format("{:.3f}", weight), bar_start - 2)
                       .to(bar_start)
                       .add(view::filled_bar(std::abs(weight) / full, bar_width),
                            weight < 0 ? style::label : style::good));
  }
  if (shown < n) rows.push_back(labelled(fmt::format("{} more", n - shown)));
}

Row title(const StreamStatus& s, const TopContext& context, std::size_t width) {
  Row row;
  row.add("kalstream", style::strong).add("  " + view::one_line(s.learner), style::strong);
  if (!s.version.empty()) row.add("  " + view::one_line(s.version), style::label);
  if (!std::isnan(s.uptime_seconds))
    row.add("  up ", style::label).add(format_seconds(std::floor(s.uptime_seconds)));
  const std::string source = view::one_line(context.source);
  if (row.width() + 2 + display_width(source) <= width) row.right(source, width, style::label);
  return row;
}

}  // namespace

std::vector<std::string> top_view(const StreamStatus& status, const TopContext& context,
                                  std::size_t width, std::size_t height) {
  std::vector<Row> rows;
  rows.push_back(title(status, context, width));
  rows.push_back(Row().add(view::one_line(context.trouble), style::alarm));
  add_columns(rows, counts(status), errors(status), width);
  rows.emplace_back();
  if (Row row = history(context, width); !row.empty()) rows.push_back(std::move(row));
  rows.push_back(latency(status.latency));
  rows.push_back(updates(status));
  rows.push_back(checkpoints(status));
  rows.push_back(models(status));
  rows.push_back(warnings(status));
  add_experts(rows, status, width, height);
  if (rows.size() > height) rows.resize(height);
  std::vector<std::string> lines;
  for (const Row& row : rows) lines.push_back(row.text(width, context.colours));
  return lines;
}

std::string top_line(const StreamStatus& s) {
  std::string line = fmt::format("{} samples", s.counts.samples);
  const auto add = [&](double known, const std::string& text) {
    if (!std::isnan(known)) line += "  " + text;
  };
  if (!std::isnan(s.uptime_seconds))
    line = fmt::format("up {}  {}", format_seconds(std::floor(s.uptime_seconds)), line);
  add(s.samples_per_second, format_count(s.samples_per_second) + " /s");
  add(s.errors.nse, fmt::format("NSE {} (recent {})", format_number(s.errors.nse),
                                format_number(s.recent_errors.nse)));
  add(s.coverage_nominal,
      fmt::format("coverage {} of {:.4g} %", percent(s.coverage_recent), 100 * s.coverage_nominal));
  add(s.latency.p99, "p99 " + format_seconds(s.latency.p99));
  if (s.counts.refused > 0) line += fmt::format("  {} refused", s.counts.refused);
  if (s.counts.anomalies > 0) line += fmt::format("  {} anomalies", s.counts.anomalies);
  if (s.counts.alarms > 0) line += fmt::format("  {} alarms", s.counts.alarms);
  if (s.resident_bytes > 0) line += "  " + format_bytes(s.resident_bytes);
  const auto all = std::accumulate(s.warnings.begin(), s.warnings.end(), std::uint64_t{0});
  return line + (all == 1 ? "  1 warning" : fmt::format("  {} warnings", all));
}

std::string sparkline(std::span<const double> values, std::size_t width) {
  constexpr std::array levels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.size() > width) values = values.last(width);
  double low = INFINITY;
  double high = -INFINITY;
  for (const double v : values)
    if (std::isfinite(v)) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  std::string text;
  for (const double v : values) {
    if (!std::isfinite(v)) {
      text += ' ';
      continue;
    }
    // Halves, so that the difference of two numbers does not overflow.
    const double share = high > low ? (v / 2 - low / 2) / (high / 2 - low / 2) : 0;
    text += levels[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return text;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array units = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, units[unit]);
}

}  // namespace kalstream
