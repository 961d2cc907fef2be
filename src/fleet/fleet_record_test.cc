#include "fleet/fleet_record.h"

#include "kalstream/version.h"
#include "kernels/dispatch.h"
#include "schema/dataset.h"

namespace kalstream::fleet {
namespace {

FleetRecord example() {
  StreamSettings settings;
  settings.fields.key = "device";
  settings.fields.targets = {"y", "z"};
  settings.learner = "alg1";
  settings.interval = Coverages({0.9});
  settings.set = {"noise=0.1"};
  return begin_record("readings", "answers", settings);
}

TEST(FleetRecord, ComesBackAsItWas) {
  const FleetRecord before = example();
  const std::vector<std::string> values{to_json(before)};
  const FleetRecords records = records_of(values);
  ASSERT_TRUE(records.fleet);
  EXPECT_FALSE(records.schema);
  EXPECT_EQ(difference(*records.fleet, before), "");
  EXPECT_EQ(records.fleet->kernels, kernels::target_name());
  EXPECT_EQ(records.fleet->version, version());
  EXPECT_EQ(to_json(*records.fleet), values[0]);
}

TEST(FleetRecord, TheFirstOfEachKindCounts) {
  SchemaRecord schema;
  schema.schema.fields = {{.name = "t", .role = Role::time},
                          {.name = "colour", .role = Role::input, .slots = 16, .values = {"red"}},
                          {.name = "y", .role = Role::target, .reason = "last", .later = true}};
  schema.schema.time_form = TimeForm::year_first;
  schema.experts = 3;
  SchemaRecord later = schema;
  later.schema.fields.pop_back();
  FleetRecord other = example();
  other.input = "others";
  const std::vector<std::string> values{to_json(example()), to_json(schema), to_json(other),
                                        to_json(later)};
  const FleetRecords records = records_of(values);
  EXPECT_EQ(records.fleet->input, "readings");
  EXPECT_EQ(records.schema->schema.fields, schema.schema.fields);
  EXPECT_EQ(records.schema->schema.time_form, TimeForm::year_first);
  EXPECT_EQ(records.schema->experts, 3);
}

TEST(FleetRecord, WhatCannotBeReadIsSaid) {
  for (
      const char* text :
      {"", "{}", "[1]", R"({"kalstream":"fleet"})", R"({"kalstream":"fleet","format":2})",
       R"({"kalstream":"schema","format":1,"time_form":"none","fields":[{"name":"a","role":"x"}]})",
       R"({"kalstream":"fleet","format":1,"version":"1","input":"a","output":"b","kernels":"c","settings":{"what":1}})"}) {
    const std::vector<std::string> values{text};
    EXPECT_THROW(records_of(values), DataError) << text;
  }
}

TEST(FleetRecord, NamesWhatDiffers) {
  FleetRecord here = example();
  here.output = "others";
  here.settings.learner = "rls";
  here.settings.interval = {};
  here.settings.jobs = 4;  // answers do not depend on it
  EXPECT_EQ(difference(example(), here),
            "--output answers (here others), --learner alg1 (here rls), "
            "--interval 0.9 (here by default)");
}

TEST(FleetRecord, AWorkerMayLeaveOptionsOut) {
  StreamSettings given;
  EXPECT_NO_THROW(require_no_contradiction(example(), given));
  given.fields.key = "device";
  given.learner = "alg1";
  EXPECT_NO_THROW(require_no_contradiction(example(), given));
  given.learner = "rls";
  EXPECT_THROW(require_no_contradiction(example(), given), std::invalid_argument);
}

TEST(FleetRecord, KernelsAreTheFleets) {
  const std::string before(kernels::target_name());
  FleetRecord fleet = example();
  fleet.kernels = "reference";
  use_kernels(fleet);
  EXPECT_EQ(kernels::target_name(), "reference");
  fleet.kernels = "abacus";
  EXPECT_THROW(use_kernels(fleet), std::invalid_argument);
  kernels::use_target(before);
}

TEST(FleetRecord, TheBudgetIsResolvedOnce) {
  StreamSettings settings;
  settings.budget_us = 1e6;
  settings.hidden = 2;
  settings.window = 2;
  const FleetRecord fleet = begin_record("i", "o", settings);
  Schema schema;
  schema.fields = {{.name = "x", .role = Role::input}, {.name = "y", .role = Role::target}};
  const SchemaRecord record = propose(fleet, schema, [](const std::string&) {});
  EXPECT_GT(record.experts, 0);
  EXPECT_EQ(settings_of(fleet, record).budget_us, 0);
  EXPECT_EQ(settings_of(fleet, record).experts, record.experts);
}

}  // namespace
}  // namespace kalstream::fleet
