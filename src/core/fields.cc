#include "core/fields.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "core/number_in.h"
#include "kalstream/settings.h"

namespace kalstream {

namespace {

/// Checks the value of one field by its kind.
struct Check {
  const Field& field;

  void operator()(const double* v) const { number(*v); }
  void operator()(const std::size_t* v) const { number(static_cast<double>(*v)); }
  void operator()(const bool* /*any*/) const {}
  void operator()(const Word& /*any*/) const {}
  void operator()(const Choice& c) const {
    require(c.get(c.where) < c.names.size(), field.key, "one of those there are");
  }
  void operator()(const Schedule* s) const {
    number(s->from);
    number(s->to);
    require(s->kind == Schedule::Kind::constant || positive.holds(s->steps), field.key,
            "given a positive number of steps, unless constant");
  }
  void operator()(const std::optional<double>* v) const {
    if (v->has_value()) number(**v);
  }
  void operator()(const std::vector<double>* v) const {
    require(std::all_of(v->begin(), v->end(), field.permitted.holds), field.key,
            std::string(field.permitted.words) + ", each");
  }
  void number(double v) const {
    require(field.permitted.holds(v), field.key, field.permitted.words);
  }
};

}  // namespace

Field no_setting(Field field) {
  field.is_setting = false;
  return field;
}

Fields operator+(Fields first, const Fields& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void require(bool ok, std::string_view key, std::string_view demand) {
  if (!ok) throw std::invalid_argument(std::string(key).append(" must be ").append(demand));
}

void check(const Fields& fields) {
  for (const Field& field : fields) std::visit(Check{field}, field.value);
}

namespace {

// ---- From text. What is of another kind throws what was expected.

struct Expected {
  std::string kind;
};

template <class Number>
Number number(std::string_view text, const char* kind) {
  if (const auto v = number_in<Number>(text)) return *v;
  throw Expected{kind};
}

double number(std::string_view text) { return number<double>(text, "a number"); }

// A | A..B | A..B@N | A~B@N.
Schedule schedule(std::string_view text, std::size_t run_length) {
  try {
    const auto dots = text.find("..");
    const auto tilde = text.find('~');
    if (dots == text.npos && tilde == text.npos) return number(text);
    const bool linear = dots != text.npos;
    const auto split = linear ? dots : tilde;
    const auto rest = text.substr(split + (linear ? 2 : 1));
    const auto at = rest.find('@');
    const double from = number(text.substr(0, split));
    const double to = number(rest.substr(0, at));
    double steps = static_cast<double>(run_length);
    if (at != rest.npos) steps = number(rest.substr(at + 1));
    if (linear) return Schedule::linear(from, to, steps);
    if (at != rest.npos) return Schedule::exponential(from, to, steps);
  } catch (const Expected&) {
  }
  throw Expected{"a number, A..B (linear over the run), A..B@N or A~B@N (exponential)"};
}

struct Set {
  std::string_view text;
  std::size_t run_length;

  void operator()(double* v) const { *v = number(text); }
  void operator()(std::size_t* v) const { *v = number<std::size_t>(text, "a whole number"); }
  void operator()(const Word& v) const { *v.where = number<std::uint64_t>(text, "a whole number"); }
  void operator()(bool* v) const {
    if (text != "true" && text != "false") throw Expected{"true or false"};
    *v = text == "true";
  }
  void operator()(const Choice& v) const {
    const auto found = std::find(v.names.begin(), v.names.end(), text);
    if (found != v.names.end())
      return v.set(v.where, static_cast<std::size_t>(found - v.names.begin()));
    Expected names{"one of "};
    for (const std::string_view name : v.names)
      names.kind.append(name == v.names.front() ? "" : ", ").append(name);
    throw names;
  }
  void operator()(Schedule* v) const { *v = schedule(text, run_length); }
  void operator()(std::optional<double>* v) const {
    if (text == "none")
      v->reset();
    else
      *v = number(text);
  }
  void operator()(std::vector<double>* v) const {
    std::vector<double> list;
    for (std::string_view rest = text; !rest.empty();) {
      const auto comma = std::min(rest.find(','), rest.size());
      list.push_back(number(rest.substr(0, comma)));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    *v = std::move(list);
  }
};

// ---- To text.

// Every digit that counts, and no exponent where people write none: 0.0001, 1e-7, 1000, 1e+16.
std::string digits(double v) {
  char buffer[64];
  const auto write = [&](std::chars_format format) {
    return std::string(buffer, std::to_chars(std::begin(buffer), std::end(buffer), v, format).ptr);
  };
  std::string text = write(std::chars_format::scientific);
  const auto e = text.find('e');
  if (e == text.npos) return text;  // nan, inf
  const long exponent = std::strtol(text.c_str() + e + 1, nullptr, 10);
  if (-4 <= exponent && exponent < 16) return write(std::chars_format::fixed);
  if (exponent < 0 && text[e + 2] == '0') text.erase(e + 2, 1);
  return text;
}

std::string six_digits(double v) {
  char buffer[32];
  return {
      buffer,
      std::to_chars(std::begin(buffer), std::end(buffer), v, std::chars_format::general, 6).ptr};
}

struct Show {
  std::string operator()(const double* v) const { return digits(*v); }
  std::string operator()(const std::size_t* v) const { return std::to_string(*v); }
  std::string operator()(const Word& v) const { return std::to_string(*v.where); }
  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const Choice& v) const { return std::string(v.names[v.get(v.where)]); }
  std::string operator()(const Schedule* v) const { return to_text(*v); }
  std::string operator()(const std::optional<double>* v) const {
    return v->has_value() ? digits(**v) : "none";
  }
  std::string operator()(const std::vector<double>* v) const {
    if (v->empty()) return "(built in)";
    std::string list;
    for (const double one : *v) list += (list.empty() ? "" : ",") + six_digits(one);
    return list;
  }
};

}  // namespace

void set_from_text(const FieldValue& value, std::string_view text, std::size_t run_length) {
  try {
    std::visit(Set{text, run_length}, value);
  } catch (const Expected& expected) {
    throw std::invalid_argument("'" + std::string(text) + "' is not " + expected.kind);
  }
}

std::string text_of(const FieldValue& value) { return std::visit(Show{}, value); }

std::string to_text(const Schedule& s) {
  if (s.kind == Schedule::Kind::constant) return digits(s.from);
  return digits(s.from) + (s.kind == Schedule::Kind::linear ? ".." : "~") + digits(s.to) + "@" +
         digits(s.steps);
}

Schedule schedule_from(std::string_view text, std::size_t run_length) {
  Schedule s;
  set_from_text(&s, text, run_length);
  return s;
}

}  // namespace kalstream
