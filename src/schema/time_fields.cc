#include "schema/time_fields.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kalstream {
namespace {

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

}  // namespace

std::optional<FoundForm> time_in(const Value& value) {
  if (value.kind == Value::Kind::text) return form_of(value.text);
  if (value.kind != Value::Kind::number) return {};
  const auto epoch = epoch_form_of(value.number);
  return FoundForm{epoch                   ? *epoch
                   : is_date_number(value) ? TimeForm::year_first
                                           : TimeForm::number};
}

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

}  // namespace kalstream
