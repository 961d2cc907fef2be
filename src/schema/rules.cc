#include "schema/rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "core/closest.h"
#include "schema/future.h"
#include "schema/timestamp.h"

namespace kalstream {
namespace {

constexpr std::string_view default_target = "target";

using Names = FieldNames;
using Places = FieldPlaces;

// ---- Which fields tell the time.

/// "createdAt", "event_time" and "Zeitstempel (UTC)" in words of small letters.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_small = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool large = c >= 'A' && c <= 'Z';
    if ((large && was_small) || std::isalpha(byte) == 0) words.emplace_back();
    was_small = c >= 'a' && c <= 'z';
    if (std::isalpha(byte) != 0) words.back() += lower_case({&c, 1});
  }
  std::erase(words, "");
  return words;
}

constexpr std::array<std::string_view, 9> time_words{
    "time", "timestamp", "ts", "date", "datetime", "epoch", "unix", "unixtime", "when"};

bool speaks_of_time(std::string_view name) {
  const auto words = words_of(name);
  return std::ranges::any_of(words,
                             [](const std::string& word) {
                               return std::ranges::find(time_words, word) != time_words.end();
                             }) ||
         (words.size() > 1 && words.back() == "at");
}

bool is_named_time(std::string_view name) {
  return std::ranges::find(time_words, lower_case(name)) != time_words.end();
}

/// 20240131 in a field that is named for it.
bool is_date_number(const Value& value) {
  return value.text.size() == 8 && parse_time(value.text, TimeForm::year_first).has_value();
}

struct Candidate {
  std::size_t field = 0;
  FoundForm form;
  bool has_date = true;
  bool has_clock = true;
  std::string guess;
};

std::optional<Candidate> text_candidate(const Record::Field& f, std::size_t k) {
  const auto form = form_of(f.value.text);
  if (!form) return {};
  const auto time = parse_time(f.value.text, form->form);
  if (!time) return {};
  return Candidate{k, *form, time->has_date, time->has_clock,
                   form->sure ? "" : "day and month could be the other way round"};
}

std::optional<Candidate> number_candidate(const Record& record, std::size_t k, bool is_first) {
  const Record::Field& f = record.fields()[k];
  const auto found = [&](TimeForm form, const char* guess) {
    return Candidate{k, {form, true}, true, true, guess};
  };
  const auto epoch = epoch_form_of(f.value.number);
  if (epoch && speaks_of_time(f.name)) return found(*epoch, "");
  if (speaks_of_time(f.name) && is_date_number(f.value)) return found(TimeForm::year_first, "");
  if (!is_first) return {};
  if (epoch && !record.named) return found(*epoch, "its first number counts from 1970 to our days");
  if (is_named_time(f.name)) return found(TimeForm::number, "it is the first field and named so");
  return {};
}

struct FoundTime {
  std::vector<std::size_t> fields;  ///< none, one, or a date and a time of day
  TimeForm form = TimeForm::none;
  std::string guess;                ///< if it could be wrong: why
  std::vector<std::size_t> others;  ///< that are times as well, and no inputs
};

/// How a value that is known to be a time is written; nothing if it is none.
std::optional<FoundForm> time_in(const Value& value) {
  if (value.kind == Value::Kind::text) return form_of(value.text);
  if (value.kind != Value::Kind::number) return {};
  const auto epoch = epoch_form_of(value.number);
  return FoundForm{epoch                   ? *epoch
                   : is_date_number(value) ? TimeForm::year_first
                                           : TimeForm::number};
}

/// Among the fields that are free to be it. Text that is a time stamp; a number with a name that
/// speaks of time and the size of one counted from 1970; a number in a first field named "time", or
/// one without name of that size.
FoundTime time_fields(const Record& record, const std::vector<bool>& free) {
  std::vector<Candidate> candidates;
  bool is_first = true;
  for (std::size_t k = 0; k < free.size(); ++k) {
    const Record::Field& f = record.fields()[k];
    if (!free[k]) continue;
    std::optional<Candidate> candidate;
    if (f.value.kind == Value::Kind::text)
      candidate = text_candidate(f, k);
    else if (f.value.kind == Value::Kind::number)
      candidate = number_candidate(record, k, is_first);
    if (candidate) candidates.push_back(*candidate);
    is_first = false;
  }
  FoundTime found;
  const auto dated = std::ranges::find_if(candidates, &Candidate::has_date);
  const auto clock =
      std::ranges::find_if(candidates, [](const Candidate& c) { return !c.has_date; });
  const auto take = [&](const auto& c) { found.fields.push_back(c->field); };
  if (dated != candidates.end()) {
    take(dated);
    found.form = dated->form.form;
    found.guess = dated->guess;
    if (!dated->has_clock && clock != candidates.end()) take(clock);
  } else if (clock != candidates.end()) {
    take(clock);
    found.form = clock->form.form;
  }
  for (const Candidate& c : candidates)
    if (std::ranges::find(found.fields, c.field) == found.fields.end())
      found.others.push_back(c.field);
  std::ranges::sort(found.fields);
  return found;
}

// ---- Roles.

[[noreturn]] void fail_unknown(const Names& names, const std::string& wanted, const char* role) {
  throw SchemaError("there is no field " + shown(wanted) + " to be the " + role + "; there are " +
                    list_of(names) + did_you_mean(wanted, names));
}

Places require(const Names& names, const std::string& wanted, const char* role) {
  const Places found = places_of(names, wanted);
  if (found.empty()) fail_unknown(names, wanted, role);
  if (found.size() > 1 && names[found[0]] == names[found[1]])
    throw SchemaError("there are several fields " + shown(wanted) +
                      "; rename them, or give the number of one, counted from 1");
  return found;
}

bool is_default_target(std::string_view name) {
  const std::string small = lower_case(name);
  return small == default_target || is_in_list(small, default_target);
}

/// A network adds its own constant.
bool is_constant(const Record::Field& f) {
  constexpr std::array<std::string_view, 5> names{"bias", "intercept", "constant", "const", "ones"};
  return f.value.kind == Value::Kind::number && f.value.number == 1 &&
         std::ranges::find(names, lower_case(f.name)) != names.end();
}

/// Gives each field of a first record its role, one kind of role after the other.
class Settling {
 public:
  Settling(const Record& first, const FieldChoice& choice)
      : record_(first), choice_(choice), names_(names_of(first)) {
    for (const std::string& name : names_) schema_.fields.push_back({.name = name});
  }

  Schema run() {
    name_key_and_id();
    choose_targets();
    choose_inputs();
    find_time();
    find_targets();
    require_one_class();
    find_inputs();
    say_why();
    put_in_order();
    return std::move(schema_);
  }

 private:
  Schema::Field& field(std::size_t k) { return schema_.fields[k]; }
  const Value& value(std::size_t k) const { return record_.fields()[k].value; }
  bool is_free(std::size_t k) const {
    return schema_.fields[k].role == Role::left_out && !names_[k].empty();
  }
  bool may_be_number(std::size_t k) const {
    return value(k).kind != Value::Kind::text;  // what is missing may be one later
  }

  void give(std::size_t k, Role role, const char* what) {
    Schema::Field& f = field(k);
    if (f.role == role)
      throw SchemaError("the field " + shown(f.name) + " is named twice as " + what +
                        "; name it once");
    if (f.role != Role::left_out)
      throw SchemaError("the field " + shown(f.name) + " is the " + to_string(f.role) +
                        " and cannot be the " + what + " as well; choose another");
    f.role = role;
  }

  // "0.2x" is a number with a mistake rather than a class.
  static bool begins_as_number(std::string_view text) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (const std::string_view before : {" ", "\t", "+", "-", "."})
      while (text.starts_with(before)) text.remove_prefix(1);
    return !text.empty() && is_digit(text[0]);
  }

  // Text is a class.
  void take_target(std::size_t k) {
    const bool has_number = std::ranges::any_of(record_.fields(), [](const Record::Field& f) {
      return f.value.kind == Value::Kind::number;
    });
    // A line of nothing but text may be one of names or units.
    const bool is_class = !may_be_number(k) && has_number && !begins_as_number(value(k).text);
    if (choice_.task == "classify" || (choice_.task.empty() && is_class))
      field(k).slots = choice_.classes;
    else
      require_number(k, "target");
  }

  void require_one_class() const {
    if (schema_.has_classes() || choice_.task == "classify")
      if (const Names targets = schema_.target_names(); targets.size() > 1)
        throw SchemaError("a class is told of one target alone, and there are " + list_of(targets) +
                          "; name one with --target");
  }

  void require_number(std::size_t k, const char* what) const {
    if (may_be_number(k)) return;
    throw SchemaError("the " + std::string(what) + ' ' + shown(names_[k]) + " is text (" +
                      shown(value(k).text, '\'') + "), and no number; choose another with --" +
                      (std::string_view(what) == "target"
                           ? choice_.task == "regress"
                                 ? "target, or leave --task regress away"
                                 : "target, or, if it is a class, say so with --task classify"
                           : "inputs, or make it one of a few values with --category"));
  }

  void name_key_and_id() {
    if (!choice_.key.empty())
      for (const std::size_t k : require(names_, choice_.key, "key")) give(k, Role::key, "key");
    if (choice_.id.empty()) return;
    for (std::size_t k = 0; k < names_.size(); ++k)
      if (names_[k] == choice_.id && is_free(k)) return void(field(k).role = Role::id);
    // Where lines are free to have other fields, others may have one.
    if (!record_.is_row) add_later(choice_.id, Role::id);
  }

  // Those the user names. In JSON a target may come later, with its id.
  void choose_targets() {
    Places chosen;
    for (const std::string& wanted : choice_.targets) {
      if (!record_.is_row && places_of(names_, wanted).empty()) {
        add_later(wanted, Role::target);
        continue;
      }
      for (const std::size_t k : require(names_, wanted, "target")) {
        give(k, Role::target, "target");
        take_target(k);
        chosen.push_back(k);
      }
    }
    orders_.push_back(chosen);
  }

  void add_later(const std::string& name, Role role) {
    schema_.fields.push_back({.name = name, .role = role, .later = true});
    if (role == Role::target && choice_.task == "classify")
      schema_.fields.back().slots = choice_.classes;
  }

  void choose_inputs() {
    Places chosen;
    for (const std::string& wanted : choice_.categories)
      for (const std::size_t k : require(names_, wanted, "category")) {
        give(k, Role::input, "category");
        field(k).slots = Schema::category_slots;
      }
    if (choice_.has_no_inputs()) return;
    for (const std::string& wanted : choice_.inputs)
      for (const std::size_t k : require(names_, wanted, "input")) {
        if (field(k).slots == 0) {
          give(k, Role::input, "input");
          require_number(k, "input");
        }
        chosen.push_back(k);
      }
    orders_.push_back(chosen);
  }

  void find_time() {
    if (choice_.time == "none") return;
    if (!choice_.time.empty()) {
      for (const std::size_t k : require(names_, choice_.time, "time")) {
        give(k, Role::time, "time");
        const auto found = time_in(value(k));
        if (!found)
          throw SchemaError("the time " + shown(names_[k]) + " is " + shown(value(k).text, '\'') +
                            ", which is no time stamp that is known (docs/data.md lists them)");
        schema_.time_form = found->form;
      }
      return;
    }
    std::vector<bool> free;
    for (std::size_t k = 0; k < names_.size(); ++k) free.push_back(is_free(k));
    const FoundTime found = time_fields(record_, free);
    schema_.time_form = found.form;
    for (const std::size_t k : found.fields) {
      field(k).role = Role::time;
      field(k).reason = found.guess;
    }
    for (const std::size_t k : found.others) field(k).reason = "another time";
  }

  bool is_left_for_numbers(std::size_t k) const {
    return is_free(k) && may_be_number(k) && schema_.fields[k].reason.empty();
  }

  void find_targets() {
    if (schema_.find(Role::target) != nullptr) return;
    for (std::size_t k = 0; k < names_.size(); ++k)
      if (is_free(k) && is_default_target(names_[k])) {
        field(k).role = Role::target;
        take_target(k);
      }
    if (schema_.find(Role::target) != nullptr) return;
    // An id means that targets may come later; where lines are free to have other fields, they do.
    if (!record_.is_row && std::ranges::find(names_, choice_.id) != names_.end())
      return add_later(std::string(default_target), Role::target);
    for (std::size_t k = names_.size(); k-- > 0;)
      if (is_left_for_numbers(k) || (choice_.task == "classify" && is_free(k))) {
        field(k).role = Role::target;
        if (choice_.task == "classify") field(k).slots = choice_.classes;
        field(k).reason = value(k).kind == Value::Kind::missing
                              ? "the last field, though it has no value in the first line"
                              : "";
        return;
      }
    throw SchemaError("there is no number to be the target; name it with --target; there are " +
                      list_of(names_));
  }

  void find_inputs() {
    if (!choice_.inputs.empty()) return;
    for (std::size_t k = 0; k < names_.size(); ++k) {
      if (!is_left_for_numbers(k)) continue;
      if (is_constant(record_.fields()[k]))
        field(k).reason = "a constant 1";
      else
        field(k).role = Role::input;
    }
  }

  void say_why() {
    for (std::size_t k = 0; k < names_.size(); ++k) {
      Schema::Field& f = field(k);
      if (f.role != Role::left_out || !f.reason.empty()) continue;
      f.reason = f.name.empty()      ? std::string("no name")
                 : !may_be_number(k) ? std::string("text")
                                     : std::string(not_chosen_reason);
    }
  }

  // Inputs and targets are in the order in which the user has named them.
  void put_in_order() {
    for (const Places& places : orders_) {
      Places sorted = places;
      std::ranges::sort(sorted);
      std::vector<Schema::Field> moved;
      for (const std::size_t k : places) moved.push_back(field(k));
      for (std::size_t j = 0; j < moved.size(); ++j) field(sorted[j]) = moved[j];
    }
  }

  const Record& record_;
  const FieldChoice& choice_;
  Names names_;
  Schema schema_;
  std::vector<Places> orders_;  // as named by the user
};

}  // namespace

bool can_settle(const Record& record, const FieldChoice& choice) {
  const Names names = names_of(record);
  const auto is_there = [&](std::size_t k) {
    return record.fields()[k].value.kind != Value::Kind::missing;
  };
  std::vector<bool> is_target(names.size(), false);
  for (const std::string& wanted : choice.targets)
    for (const std::size_t k : places_of(names, wanted)) is_target[k] = true;
  bool has_id = false;
  bool has_target = false;
  std::vector<bool> is_other(names.size(), false);
  for (std::size_t k = 0; k < names.size(); ++k) {
    is_target[k] = is_target[k] || (choice.targets.empty() && is_default_target(names[k]));
    if (names[k] == choice.id)
      has_id |= is_there(k);
    else if (is_target[k])
      has_target |= is_there(k);
    else
      is_other[k] = names[k] != choice.key && names[k] != choice.time && !names[k].empty();
  }
  const FoundTime time = time_fields(record, is_other);
  for (const auto* times : {&time.fields, &time.others})
    for (const std::size_t k : *times) is_other[k] = false;
  bool has_other = false;       // a value …
  bool may_have_other = false;  // … or a place for one
  for (std::size_t k = 0; k < names.size(); ++k) {
    may_have_other |= is_other[k];
    has_other |= is_other[k] && is_there(k);
  }
  if (has_other) return true;
  if (has_target && has_id && !choice.has_no_inputs()) return record.is_row && !may_have_other;
  return has_target || (record.is_row && names.size() == 1);
}

Schema settle(const Record& first, const FieldChoice& choice) {
  Schema schema = Settling(first, choice).run();
  if (!choice.elapsed) return schema;
  if (schema.find(Role::time) == nullptr)
    throw SchemaError("--elapsed: there is no time that could tell; name its field with --time");
  add_elapsed(schema);
  return schema;
}

std::vector<std::string> remarks(const Schema& schema) {
  std::vector<std::string> lines;
  std::vector<std::pair<std::string, Names>> left_out;  // by reason
  Names later;
  for (const Schema::Field& f : schema.fields) {
    if (f.later) {
      if (f.role == Role::target) later.push_back(f.name);
    } else if (f.role == Role::left_out && f.reason != not_chosen_reason) {
      auto same = std::ranges::find(left_out, f.reason, &std::pair<std::string, Names>::first);
      if (same == left_out.end()) same = left_out.insert(same, {f.reason, {}});
      same->second.push_back(f.name);
    } else if (f.role != Role::left_out && !f.reason.empty()) {
      lines.push_back(shown(f.name) + " is taken for the " + to_string(f.role) + ": " + f.reason);
    }
  }
  for (const auto& [reason, names] : left_out)
    lines.push_back("left out: " + list_of(names) + " (" + reason + ')');
  if (!later.empty())
    lines.push_back("no target in the first sample: " + list_of(later) + " may come later");
  return lines;
}

}  // namespace kalstream