#include "core/fields.h"

#include <algorithm>
#include <stdexcept>
#include <string>

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

}  // namespace kalstream
