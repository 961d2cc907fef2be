// Lines of delimited text: where their fields are, and what a first line tells. Internal to
// src/lines and src/data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kalstream::delimited {

/// A field of a line, trimmed; of a quoted one what is between the quotes, doubled ones included.
struct Cell {
  std::string_view text;
  bool quoted = false;
};

using Cells = std::vector<Cell>;

/// The fields of a line; `delimiter` ' ' stands for any run of blanks, 0 for none at all. The cells
/// are views of the line. `quotes` are one sign or two. Throws DataError if a quote is never
/// closed, or if there are too many.
void split(std::string_view line, char delimiter, Cells& cells, std::string_view quotes = "\"");

/// Where the line ends that `text` begins with: at a line feed outside of quotes, or at the end. An
/// unknown delimiter may be any of them.
std::size_t line_length(std::string_view text, char delimiter);

/// The text of a cell as it was meant: a doubled quote stands for one.
void unquote(const Cell& cell, std::string& text);
std::string name_of(const Cell& cell);

/// A number, nothing or a time stamp, by one decimal sign or the other.
bool is_value(const Cell& cell);
bool is_number(const Cell& cell);

/// The delimiter that a header has most of outside quotes; if it has none, ' ' if there are blanks,
/// else 0.
char header_delimiter(std::string_view line);

struct Guess {
  char delimiter = 0;
  double share = 0;  ///< of the fields that are values
};

/// The delimiter that makes the largest share of a line's fields values; blanks only if no other
/// does as well; then the one with most fields. If `columns` is not 0, one with so many comes
/// first.
Guess data_delimiter(std::string_view line, std::size_t columns = 0);

/// Whether a line that is split like this may be a row of data. Where blanks delimit, a sentence
/// with a number in it is none.
bool may_be_row(const Guess& guess);

/// Names: at least one text that is no time stamp, and no measurement. Whole numbers may be names
/// (0, 1, 2, … or years), and so may three time stamps or more.
bool are_names(const Cells& cells);

/// Names that are told apart: of several "a" the second is "a.2".
std::vector<std::string> distinct_names(const Cells& cells);

}  // namespace kalstream::delimited
