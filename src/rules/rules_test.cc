// What holds for the list of fields of every rule, whichever there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "core/fields.h"
#include "kalstream/snapshot.h"
#include "rules/rule.h"

namespace kalstream {
namespace {

struct Place {
  std::size_t offset;
  std::size_t size;
  std::size_t alignment;
};

Place place_of(const FieldValue& value, const void* object) {
  const auto place = [&]<class T>(const T* where) {
    const auto offset = reinterpret_cast<const char*>(where) - static_cast<const char*>(object);
    return Place{static_cast<std::size_t>(offset), sizeof(T), alignof(T)};
  };
  return std::visit(
      [&](const auto& v) {
        if constexpr (requires { v.names; })
          return place(static_cast<const int*>(v.where));  // an enumeration is as large as that
        else if constexpr (requires { v.where; })
          return place(v.where);
        else
          return place(v);
      },
      value);
}

// Fields that follow one another without room for a member that is in none of them.
template <class Options>
void expect_no_gaps(const Fields& fields, const Options& options, const std::string& name) {
  std::vector<Place> places;
  for (const Field& field : fields) places.push_back(place_of(field.value, &options));
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.offset < b.offset; });
  places.push_back({.offset = sizeof(Options), .size = 0, .alignment = alignof(Options)});
  std::size_t end = 0;
  for (const Place& p : places) {
    EXPECT_EQ((end + p.alignment - 1) / p.alignment * p.alignment, p.offset)
        << name << ": a member is not in the list";
    end = p.offset + p.size;
  }
}

// A value that is not permitted, if there is one.
void spoil(const Field& field) {
  const double bad = field.permitted.holds(0) ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  std::visit(
      [&](const auto& v) {
        using Value = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Value, std::size_t*>)
          *v = field.permitted.holds(0) ? 1'000'000 : 0;
        else if constexpr (std::is_same_v<Value, std::vector<double>*>)
          *v = {bad};
        else if constexpr (std::is_pointer_v<Value> && !std::is_same_v<Value, bool*>)
          *v = bad;
      },
      field.value);
}

// Another value that is permitted for every field there is.
void change(const Field& field) {
  std::visit(
      [&](const auto& v) {
        using Value = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Value, Word>)
          *v.where += 12345;
        else if constexpr (std::is_same_v<Value, Choice>)
          v.set(v.where, (v.get(v.where) + 1) % v.names.size());
        else if constexpr (std::is_same_v<Value, bool*>)
          *v = !*v;
        else if constexpr (std::is_same_v<Value, std::size_t*>)
          *v += 2;
        else if constexpr (std::is_same_v<Value, Schedule*>)
          *v = Schedule::exponential(0.5, 0.25, 100);
        else if constexpr (std::is_same_v<Value, std::vector<double>*>)
          *v = {0.5, 0.25};
        else
          *v = 0.75;
      },
      field.value);
}

TEST(Rules, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> stored;
  for_every_rule([&](const auto& info) {
    for (const auto& learner : info.learners) {
      EXPECT_TRUE(names.insert(learner.name).second) << learner.name;
      EXPECT_STRNE(learner.meaning, "") << learner.name;
    }
    EXPECT_TRUE(stored.insert(info.stored_as).second) << info.stored_as;
  });
  EXPECT_EQ(stored.size(), std::variant_size_v<Rule>);
}

TEST(Rules, AreMadeInOneWay) {
  for_every_rule([](const auto& info) {
    const int ways = (info.update_rule != nullptr ? 1 : 0) +
                     (info.network_learner != nullptr ? 1 : 0) +
                     (info.whole_learner != nullptr ? 1 : 0);
    EXPECT_EQ(ways, 1) << info.stored_as;
  });
}

TEST(Rules, ListEveryMember) {
  NetworkOptions network;
  expect_no_gaps(fields_of(network), network, "network");
  for_every_rule([]<class Options>(const RuleInfo<Options>& info) {
    Options options;
    const Fields fields = info.fields(options);
    std::set<std::string_view> keys;
    std::set<std::string_view> stored;
    for (const Field& field : fields) {
      EXPECT_TRUE(keys.insert(field.key).second) << field.key;
      EXPECT_TRUE(stored.insert(field.stored_as).second) << field.stored_as;
      EXPECT_NE(field.meaning, "") << field.key;
    }
    if constexpr (!std::is_empty_v<Options>)
      expect_no_gaps(fields, options, std::string(info.stored_as));
  });
}

// By its own name, before anything is made of it.
TEST(Rules, RefuseWhatIsNotPermitted) {
  for_every_rule([]<class Options>(const RuleInfo<Options>& info) {
    Options defaults;
    for (std::size_t k = 0; k < info.fields(defaults).size(); ++k) {
      Options options;
      const Field field = info.fields(options)[k];
      if (*field.permitted.words == '\0') continue;
      spoil(field);
      try {
        options.validate();
        ADD_FAILURE() << info.stored_as << "." << field.key << " = " << text_of(field.value);
      } catch (const std::invalid_argument& error) {
        EXPECT_TRUE(std::string(error.what()).starts_with(std::string(field.key) + " must be "))
            << error.what();
      }
    }
  });
}

// All fields are other than their defaults, and are so again after a snapshot.
TEST(Rules, AreWhollyKeptInSnapshots) {
  for_every_rule([]<class Options>(const RuleInfo<Options>& info) {
    Options options;
    for (const Field& field : info.fields(options)) change(field);
    LearnerOptions before{.network = {.inputs = 2, .hidden = 2, .seed = ~std::uint64_t{0}},
                          .rule = options,
                          .lags = info.sees_past_targets ? 0U : 3U};
    LearnerOptions after = describe(save(*make_learner(before))).recipe.options;
    EXPECT_EQ(after.lags, before.lags);
    const auto texts = [](LearnerOptions& o) {
      Fields all = fields_of(o.network);
      with_info(o.rule, [&](const auto& rule, auto& own) { all = all + rule.fields(own); });
      std::vector<std::string> values;
      for (const Field& field : all) values.push_back(text_of(field.value));
      return values;
    };
    EXPECT_EQ(texts(after), texts(before)) << info.stored_as;
  });
}

}  // namespace
}  // namespace kalstream
