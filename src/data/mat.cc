// MAT files of version 5 (MATLAB's -v6 and -v7), through libmatio.
#include <matio.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>

#include "data/table.h"

namespace kalstream::reading {
namespace {

using File = std::unique_ptr<mat_t, decltype(&Mat_Close)>;
using Variable = std::unique_ptr<matvar_t, decltype(&Mat_VarFree)>;

/// Features × samples, sample after sample.
struct Samples {
  std::size_t features;
  std::size_t count;
  std::vector<double> values;
  char letter;  ///< names the columns: x1, x2, …
};

/// An element's size is the second word of its tag.
std::uint64_t element_size(std::ifstream& in, std::uint64_t at, bool little_endian) {
  std::array<unsigned char, 4> bytes{};
  in.seekg(static_cast<std::streamoff>(at) + 4);
  in.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (little_endian) std::ranges::reverse(bytes);
  std::uint64_t size = 0;
  for (unsigned char byte : bytes) size = size << 8 | byte;
  return size;
}

/// Makes sure of what libmatio does not check, and returns the file's size. It takes what it does
/// not recognise for version 4, hands version 7.3 to HDF5, and makes up what a cut file lacks.
std::uint64_t checked_size(const std::string& path) {
  constexpr std::uint64_t header_size = 128;
  constexpr std::uint64_t tag_size = 8;
  std::array<char, header_size> header{};
  std::ifstream in(path, std::ios::binary);
  in.read(header.data(), header.size());
  const std::string_view mark(header.data() + 124, 4);  // version and byte order
  const bool little_endian = mark == std::string_view("\0\1IM", 4);
  const bool big_endian = mark == std::string_view("\1\0MI", 4);
  if (!in || !(little_endian || big_endian))
    fail(path, 0, "is not a MAT file of version 5; save it with -v7");

  in.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(in.tellg());
  std::uint64_t at = header_size;
  while (at < size) at += tag_size + element_size(in, at, little_endian);
  if (at > size) fail(path, 0, "is damaged or not complete; copy or save it again");
  return size;
}

bool is_matrix(const matvar_t& v) {
  return v.rank == 2 && v.dims != nullptr && v.dims[0] > 0 && v.dims[1] > 0 && !v.isComplex &&
         v.class_type >= MAT_C_DOUBLE && v.class_type <= MAT_C_UINT64;
}

bool is_scalar(const matvar_t& v) { return v.dims[0] == 1 && v.dims[1] == 1; }

std::string name_of(const matvar_t& v) { return v.name == nullptr ? "" : v.name; }

/// For messages: name (3x100).
std::string describe(const matvar_t& v) {
  std::string text = shown(name_of(v)) + " (";
  for (int i = 0; v.dims != nullptr && i < v.rank; ++i)
    text += (i > 0 ? "x" : "") + std::to_string(v.dims[i]);
  return text + (is_matrix(v) ? ")" : ", not a real matrix)");
}

template <class T>
std::vector<double> as_doubles(const matvar_t& v) {
  const std::span values(static_cast<const T*>(v.data), v.dims[0] * v.dims[1]);
  std::vector<double> doubles(values.size());
  std::ranges::transform(values, doubles.begin(), [](T x) { return static_cast<double>(x); });
  return doubles;
}

std::vector<double> as_doubles(const matvar_t& v) {
  switch (v.class_type) {
    case MAT_C_SINGLE:
      return as_doubles<float>(v);
    case MAT_C_INT8:
      return as_doubles<std::int8_t>(v);
    case MAT_C_UINT8:
      return as_doubles<std::uint8_t>(v);
    case MAT_C_INT16:
      return as_doubles<std::int16_t>(v);
    case MAT_C_UINT16:
      return as_doubles<std::uint16_t>(v);
    case MAT_C_INT32:
      return as_doubles<std::int32_t>(v);
    case MAT_C_UINT32:
      return as_doubles<std::uint32_t>(v);
    case MAT_C_INT64:
      return as_doubles<std::int64_t>(v);
    case MAT_C_UINT64:
      return as_doubles<std::uint64_t>(v);
    default:
      return as_doubles<double>(v);
  }
}

void transpose(Samples& samples) {
  std::vector<double> transposed(samples.values.size());
  for (std::size_t row = 0; row < samples.features; ++row)
    for (std::size_t column = 0; column < samples.count; ++column)
      transposed[row * samples.count + column] = samples.values[column * samples.features + row];
  samples.values = std::move(transposed);
  std::swap(samples.features, samples.count);
}

/// Whether a file of `file_size` bytes can hold the matrix at all: zlib compresses at most 1032
/// times, and small integers are stored in one byte for eight. Damaged sizes are refused before
/// memory is asked for.
bool is_plausible(const matvar_t& v, std::uint64_t file_size) {
  constexpr std::uint64_t largest_ratio = std::uint64_t{1032} * 8;
  return v.dims[0] <= file_size * largest_ratio / Mat_SizeOfClass(v.class_type) / v.dims[1];
}

/// The variables of one file.
class Contents {
 public:
  explicit Contents(const std::string& path)
      : path_(path),
        size_(checked_size(path)),
        file_(Mat_Open(path.c_str(), MAT_ACC_RDONLY), &Mat_Close) {
    if (!file_) fail(path_, 0, "cannot be read as a MAT file; save it again with -v7");
    while (matvar_t* info = Mat_VarReadNextInfo(file_.get()))
      variables_.emplace_back(info, &Mat_VarFree);
  }

  matvar_t* matrix(std::string_view name) const {
    for (const Variable& v : variables_)
      if (is_matrix(*v) && name_of(*v) == name) return v.get();
    return nullptr;
  }

  /// The one matrix of a file that has no other; a number beside it is no second candidate.
  matvar_t* only_matrix() const {
    matvar_t* found = nullptr;
    for (const Variable& v : variables_) {
      if (!is_matrix(*v) || is_scalar(*v)) continue;
      if (found != nullptr) return nullptr;
      found = v.get();
    }
    return found;
  }

  /// Samples are the columns of the matrix, as they are in memory.
  Samples load(matvar_t& v, char letter) const {
    const bool read = is_plausible(v, size_) && Mat_VarReadDataAll(file_.get(), &v) == 0;
    const std::size_t bytes = v.dims[0] * v.dims[1] * Mat_SizeOfClass(v.class_type);
    if (!read || v.data == nullptr || v.nbytes != bytes)
      fail(path_, 0, "the variable " + describe(v) + " is damaged; save the file again with -v7");
    return {v.dims[0], v.dims[1], as_doubles(v), letter};
  }

  std::string list() const {
    std::string text;
    for (const Variable& v : variables_) text += (text.empty() ? "" : ", ") + describe(*v);
    return text.empty() ? "nothing" : text;
  }

 private:
  const std::string& path_;
  std::uint64_t size_;
  File file_;
  std::vector<Variable> variables_;
};

std::vector<Samples> load_blocks(const std::string& path) {
  const Contents contents(path);
  matvar_t* const input = contents.matrix("input_set");
  matvar_t* const target = contents.matrix("target_set");
  if (input != nullptr && target != nullptr)
    return {contents.load(*input, 'x'), contents.load(*target, 'd')};

  matvar_t* single = contents.matrix("nngc_data");
  if (single == nullptr) single = contents.only_matrix();
  if (single == nullptr)
    fail(path, 0,
         "holds " + contents.list() +
             "; save input_set and target_set with samples in columns, or a single matrix");
  Samples samples = contents.load(*single, 'x');
  if (samples.features >= samples.count) transpose(samples);
  return {samples};
}

void append_sample(const std::string& path, std::span<const double> values, Table& table) {
  const std::size_t sample = table.rows() + 1;
  for (double value : values) {
    const std::size_t column = table.values.size() % table.columns.size();
    if (std::isinf(value))
      fail_cell(path, sample, table.columns[column], "Inf", CellKind::out_of_range,
                "remove the sample or write NaN to mark it missing");
    table.values.push_back(value);
  }
}

}  // namespace

Table read_mat(const std::string& path, std::size_t limit) {
  const std::vector<Samples> blocks = load_blocks(path);

  Table table;
  for (const Samples& block : blocks) {
    if (block.count != blocks.front().count)
      fail(path, 0,
           "input_set and target_set differ in their number of columns; save one column per sample "
           "in both");
    for (std::size_t i = 0; i < block.features; ++i)
      table.columns.push_back(column_name(i, block.letter));
  }
  if (blocks.size() > 1) table.default_targets = blocks.back().features;

  const std::size_t rows = std::min(limit, blocks.front().count);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const Samples& block : blocks)
      append_sample(path, std::span(block.values).subspan(row * block.features, block.features),
                    table);
    table.lines.push_back(row + 1);
  }
  return table;
}

}  // namespace kalstream::reading
