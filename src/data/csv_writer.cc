#include "data/csv_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "lines/csv_field.h"

namespace kalstream {

namespace {

/// The word nan rather than an empty field: a line with a single empty field would be blank.
void append_number(std::string& line, double value) {
  std::array<char, 32> text;                        // -2.2250738585072014e-308 needs 24 characters.
  if (std::isnan(value)) value = std::fabs(value);  // no "-nan"
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  line.append(text.data(), result.ptr);
}

void append_name(std::string& line, const std::string& name) { line += csv_field(name); }

template <class Items, class Append>
void append_items(std::string& line, const Items& items, Append append) {
  for (const auto& item : items) {
    if (!line.empty()) line += ',';
    append(line, item);
  }
}

template <class Items, class Append>
void write_line(const Items& inputs, const Items& targets, Append append, std::ostream& out) {
  std::string line;
  append_items(line, inputs, append);
  append_items(line, targets, append);
  out << line << '\n';
}

}  // namespace

void write_csv(const Dataset& data, std::ostream& out) {
  write_line(data.input_names, data.target_names, append_name, out);
  for (std::size_t row = 0; row < data.rows(); ++row)
    write_line(data.x(row), data.d(row), append_number, out);
}

}  // namespace kalstream
