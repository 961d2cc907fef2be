// MAT files of version 5 (MATLAB's -v6 and -v7): real matrices, plain or compressed. Read here and
// not by a library, because files may come from anywhere: no size in them is taken on trust.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "data/inflate.h"
#include "data/record_file.h"
#include "schema/dataset.h"

namespace kalstream {
namespace {

/// Features × samples, sample after sample.
struct Samples {
  std::size_t features;
  std::size_t count;
  std::vector<double> values;
  char letter;  ///< names the columns: x1, x2, …
};

/// The file contradicts itself.
struct Damaged {};

void require(bool holds) {
  if (!holds) throw Damaged{};
}

/// Bytes from front to back, never beyond the end.
class Bytes {
 public:
  Bytes(std::string_view bytes, bool little_endian)
      : rest_(bytes), swaps_(little_endian != (std::endian::native == std::endian::little)) {}

  bool empty() const { return rest_.empty(); }

  std::string_view take(std::size_t size) {
    require(size <= rest_.size());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  void skip(std::size_t size) { rest_.remove_prefix(std::min(size, rest_.size())); }

  template <class T>
  T number() {
    std::array<char, sizeof(T)> bytes{};
    std::ranges::copy(take(sizeof(T)), bytes.begin());
    if (swaps_) std::ranges::reverse(bytes);
    return std::bit_cast<T>(bytes);
  }

 private:
  std::string_view rest_;
  bool swaps_;
};

// What an element of a file holds; numbers have a type each, see number_types.
constexpr std::uint32_t int32 = 5;
constexpr std::uint32_t uint32 = 6;
constexpr std::uint32_t matrix = 14;
constexpr std::uint32_t compressed = 15;
constexpr std::uint32_t first_numeric_class = 6;
constexpr std::uint32_t last_numeric_class = 15;
constexpr std::uint32_t class_bits = 0xff;
constexpr std::uint32_t complex_bit = 0x800;

struct Element {
  std::uint32_t type;
  std::string_view data;
};

/// A part of a matrix: a type, a size and as many bytes, filled up to eight; or, for up to four
/// bytes, the size in the upper half of the type.
Element next_element(Bytes& bytes) {
  const auto word = bytes.number<std::uint32_t>();
  if (const std::uint32_t size = word >> 16; size > 0) {
    require(size <= 4);
    return {word & 0xffff, bytes.take(4).substr(0, size)};
  }
  const auto size = bytes.number<std::uint32_t>();
  const Element element{word, bytes.take(size)};
  bytes.skip((8 - size % 8) % 8);
  return element;
}

/// Numbers in a file are of the smallest type that holds them, whatever the matrix is of.
struct NumberType {
  std::uint32_t type;
  std::size_t size;
  double (*next)(Bytes&);
};
template <class T>
constexpr NumberType number_type(std::uint32_t type) {
  return {type, sizeof(T), [](Bytes& bytes) { return static_cast<double>(bytes.number<T>()); }};
}
constexpr std::array number_types{number_type<std::int8_t>(1),   number_type<std::uint8_t>(2),
                                  number_type<std::int16_t>(3),  number_type<std::uint16_t>(4),
                                  number_type<std::int32_t>(5),  number_type<std::uint32_t>(6),
                                  number_type<float>(7),         number_type<double>(9),
                                  number_type<std::int64_t>(12), number_type<std::uint64_t>(13)};

struct Variable {
  std::string name;
  std::vector<std::int32_t> dims;
  std::uint32_t flags = 0;
  Element element;  ///< the whole of it, as it is in the file

  std::size_t rows() const { return static_cast<std::size_t>(dims[0]); }
  std::size_t columns() const { return static_cast<std::size_t>(dims[1]); }
  bool is_matrix() const {
    const std::uint32_t is = flags & class_bits;
    return dims.size() == 2 && dims[0] > 0 && dims[1] > 0 && (flags & complex_bit) == 0 &&
           is >= first_numeric_class && is <= last_numeric_class;
  }
  bool is_scalar() const { return dims[0] == 1 && dims[1] == 1; }

  /// For messages: name (3x100).
  std::string described() const {
    std::string text = shown(name) + " (";
    for (std::size_t i = 0; i < dims.size(); ++i)
      text += (i > 0 ? "x" : "") + std::to_string(dims[i]);
    return text + (is_matrix() ? ")" : ", not a real matrix)");
  }
};

void transpose(Samples& samples) {
  std::vector<double> transposed(samples.values.size());
  for (std::size_t row = 0; row < samples.features; ++row)
    for (std::size_t column = 0; column < samples.count; ++column)
      transposed[row * samples.count + column] = samples.values[column * samples.features + row];
  samples.values = std::move(transposed);
  std::swap(samples.features, samples.count);
}

/// The variables of one file.
class Contents {
 public:
  Contents(const std::string& path, std::string_view text) : path_(path) {
    constexpr std::size_t header_size = 128;
    const auto mark = text.substr(std::min<std::size_t>(text.size(), 124), 4);
    little_endian_ = mark == std::string_view("\0\1IM", 4);
    if (!little_endian_ && mark != std::string_view("\1\0MI", 4))
      fail_at(path_, 0, "is not a MAT file of version 5; save it with -v7");
    try {
      Bytes bytes(text.substr(header_size), little_endian_);
      while (!bytes.empty()) {
        const auto type = bytes.number<std::uint32_t>();
        const auto size = bytes.number<std::uint32_t>();
        const Element element{type, bytes.take(size)};
        if (type == matrix || type == compressed) variables_.push_back(described(element));
      }
    } catch (const Damaged&) {
      fail_at(path_, 0, "is damaged or not complete; copy or save it again");
    }
  }

  const Variable* matrix_named(std::string_view name) const {
    for (const Variable& v : variables_)
      if (v.is_matrix() && v.name == name) return &v;
    return nullptr;
  }

  /// The one matrix of a file that has no other; a number beside it is no second candidate.
  const Variable* only_matrix() const {
    const Variable* found = nullptr;
    for (const Variable& v : variables_) {
      if (!v.is_matrix() || v.is_scalar()) continue;
      if (found != nullptr) return nullptr;
      found = &v;
    }
    return found;
  }

  /// Samples are the columns of the matrix, as they are in memory.
  Samples load(const Variable& v, char letter) const {
    try {
      return {v.rows(), v.columns(), values_of(v), letter};
    } catch (const Damaged&) {
      fail_at(path_, 0,
              "the variable " + v.described() + " is damaged; save the file again with -v7");
    }
  }

  std::string list() const {
    std::string text;
    for (const Variable& v : variables_) text += (text.empty() ? "" : ", ") + v.described();
    return text.empty() ? "nothing" : text;
  }

 private:
  /// What is in a matrix: flags, sizes and name come first.
  Variable described(const Element& element) const {
    constexpr std::size_t prefix = 4096;
    const std::string beginning = contents_of(element, prefix);
    Bytes bytes(beginning, little_endian_);
    Variable v{.element = element};
    const Element flags = next_element(bytes);
    require(flags.type == uint32);
    v.flags = Bytes(flags.data, little_endian_).number<std::uint32_t>();
    const Element dims = next_element(bytes);
    if (dims.type != int32) return v;  // something that is not even an array
    for (Bytes each(dims.data, little_endian_); !each.empty();)
      v.dims.push_back(each.number<std::int32_t>());
    v.name = next_element(bytes).data;
    return v;
  }

  /// The first bytes, at most, of what a matrix consists of.
  std::string contents_of(const Element& element, std::size_t most) const {
    if (element.type == matrix) return std::string(element.data.substr(0, most));
    constexpr std::size_t tag = 8;
    const std::string inner =
        inflate(element.data, Wrapping::zlib, most == SIZE_MAX ? most : most + tag).text;
    Bytes bytes(inner, little_endian_);
    require(bytes.number<std::uint32_t>() == matrix);
    const auto size = bytes.number<std::uint32_t>();
    return inner.substr(tag, std::min<std::size_t>(size, most));
  }

  std::vector<double> values_of(const Variable& v) const {
    const std::string all = contents_of(v.element, SIZE_MAX);
    Bytes bytes(all, little_endian_);
    for (int before = 0; before < 3; ++before) next_element(bytes);
    const Element data = next_element(bytes);
    const auto number = std::ranges::find(number_types, data.type, &NumberType::type);
    require(number != number_types.end());
    const std::size_t count = v.rows() * v.columns();
    require(count <= data.data.size() / number->size && count * number->size == data.data.size());
    std::vector<double> values(count);
    Bytes each(data.data, little_endian_);
    for (double& value : values) value = number->next(each);
    return values;
  }

  const std::string& path_;
  bool little_endian_ = true;
  std::vector<Variable> variables_;
};

std::vector<Samples> load_blocks(const std::string& path, std::string_view bytes) {
  const Contents contents(path, bytes);
  const Variable* const input = contents.matrix_named("input_set");
  const Variable* const target = contents.matrix_named("target_set");
  if (input != nullptr && target != nullptr)
    return {contents.load(*input, 'x'), contents.load(*target, 'd')};

  const Variable* single = contents.matrix_named("nngc_data");
  if (single == nullptr) single = contents.only_matrix();
  if (single == nullptr)
    fail_at(path, 0,
            "holds " + contents.list() +
                "; save input_set and target_set with samples in columns, or a single matrix");
  Samples samples = contents.load(*single, 'x');
  if (samples.features >= samples.count) transpose(samples);
  return {samples};
}

/// Samples as records; a sample's number stands for its line.
class MatRecords final : public RecordFile {
 public:
  MatRecords(const std::string& path, std::string_view bytes) : blocks_(load_blocks(path, bytes)) {
    for (const Samples& block : blocks_)
      if (block.count != blocks_.front().count)
        fail_at(path, 0,
                "input_set and target_set differ in their number of columns; save one column per "
                "sample in both");
  }

  bool next(Record& record) override {
    if (sample_ == blocks_.front().count) return false;
    record.clear();
    record.is_row = true;
    record.named = false;
    for (const Samples& block : blocks_)
      for (std::size_t i = 0; i < block.features; ++i)
        set_number(block.values[sample_ * block.features + i],
                   record.add(field_name(i, block.letter)));
    ++sample_;
    return true;
  }

  std::size_t line() const override { return sample_; }
  bool has_columns() const override { return true; }

  std::vector<std::string> targets() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; blocks_.size() > 1 && i < blocks_[1].features; ++i)
      names.push_back(field_name(i, blocks_[1].letter));
    return names;
  }

  std::vector<std::string> constants() const override {
    std::vector<std::string> names;
    for (const Samples& block : blocks_)
      for (std::size_t i = 0; i < block.features; ++i)
        if (is_one(block, i)) names.push_back(field_name(i, block.letter));
    return names;
  }

 private:
  static bool is_one(const Samples& block, std::size_t feature) {
    for (std::size_t k = feature; k < block.values.size(); k += block.features)
      if (block.values[k] != 1) return false;
    return true;
  }

  std::vector<Samples> blocks_;
  std::size_t sample_ = 0;
};

}  // namespace

void set_number(double number, Value& value) {
  if (std::isnan(number)) return;  // missing
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  value.kind = std::isinf(number) ? Value::Kind::too_large : Value::Kind::number;
  value.number = number;
  value.text.assign(digits.data(), end);
}

std::unique_ptr<RecordFile> open_mat(const std::string& path, std::string_view bytes) {
  return std::make_unique<MatRecords>(path, bytes);
}

}  // namespace kalstream
