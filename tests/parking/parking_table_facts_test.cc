#include "parking/parking_table_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/reason_code.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;

constexpr char kName[] = "public.walpost_parked";

// A table that the slot has used, and that is there.
ParkingTableFacts Facts() {
  ParkingTableFacts facts;
  facts.name = kName;
  facts.quoted = "\"public\".\"walpost_parked\"";
  facts.slot = "shop";
  facts.role = "relay";
  facts.is_wanted = true;
  facts.oid = 7;
  facts.is_owner = true;
  facts.may_create = true;
  facts.may_record = true;
  facts.on_record = {kName, 7};
  facts.grant_sql = "GRANT IT;";
  return facts;
}

struct Row {
  const char* name;
  std::function<void(ParkingTableFacts&)> change;
  const char* problem;  // nullptr: none
  const char* id = kReasonParkedTableMissing;
};

const Row kRows[] = {
    {"as_it_was", [](auto&) {}, nullptr},
    {"first_use", [](auto& f) { f.oid = 0, f.on_record = {}; }, nullptr},
    {"of_an_earlier_release", [](auto& f) { f.on_record = {}; }, nullptr},
    {"renamed_with_the_key",
     [](auto& f) { f.on_record.name = "public.before"; }, nullptr},
    {"missing", [](auto& f) { f.oid = 0; }, "is missing, and existed before"},
    {"missing_and_not_wanted", [](auto& f) { f.oid = 0, f.is_wanted = false; },
     "is missing, and existed before"},
    {"made_again", [](auto& f) { f.oid = 8; }, "it was made again"},
    {"other_key_and_the_table_is_in_use",
     [](auto& f) {
       f.on_record = {"public.before", 6};
       f.recorded_oid_now = 6;
       f.recorded_is_in_use = true;
     },
     "set parking.table: public.before"},
    {"other_key_and_the_table_is_free",
     [](auto& f) {
       f.on_record = {"public.before", 6};
       f.recorded_oid_now = 6;
     },
     nullptr},
    {"other_key_and_the_table_is_missing",
     [](auto& f) {
       f.on_record = {"public.before", 6};
     },
     "has used table public.before, which is missing"},
    {"other_key_and_the_table_was_made_again",
     [](auto& f) {
       f.on_record = {"public.before", 6};
       f.recorded_oid_now = 9;
     },
     "has used table public.before, which is missing"},
    {"first_use_that_cannot_be_recorded",
     [](auto& f) {
       f.oid = 0;
       f.on_record = {};
       f.may_record = false;
     },
     "it cannot be known whether slot shop has used it",
     "parked_table_history_unknown"},
    {"used_and_cannot_be_recorded",
     [](auto& f) {
       f.on_record = {};
       f.may_record = false;
     },
     nullptr},
    {"may_not_be_made",
     [](auto& f) {
       f.oid = 0;
       f.on_record = {};
       f.may_create = false;
     },
     "role relay may not make it", "parked_table_not_creatable"},
    {"a_view", [](auto& f) { f.is_table = false; }, "is not a table",
     "parked_table_not_a_table"},
    {"of_somebody_else", [](auto& f) { f.has_events = f.is_current = false; },
     "is not one of parked events", "parked_table_foreign"},
    {"unlogged", [](auto& f) { f.is_durable = false; },
     "ALTER TABLE \"public\".\"walpost_parked\" SET LOGGED;",
     "parked_table_unlogged"},
    {"row_level_security", [](auto& f) { f.hides_rows = true; },
     "DISABLE ROW LEVEL SECURITY;", "parked_table_row_security"},
    {"a_right_is_missing", [](auto& f) { f.missing_rights = "UPDATE"; },
     "role relay lacks UPDATE; run as the owner of the schema "
     "(sql/parked.sql): "
     "GRANT IT;",
     "parked_table_rights_missing"},
    {"lacks_columns_of_another_owner",
     [](auto& f) { f.is_current = f.is_owner = false; }, "lacks columns",
     "parked_table_outdated"},
    {"lacks_columns", [](auto& f) { f.is_current = false; }, nullptr},
    {"not_wanted", [](auto& f) { f.is_wanted = false; }, nullptr},
};

class ParkingTableFactsTest : public ::testing::TestWithParam<Row> {};

TEST_P(ParkingTableFactsTest, IsJudged) {
  ParkingTableFacts facts = Facts();
  GetParam().change(facts);
  const absl::Status judged = JudgeParkingTable(facts);
  const Findings findings = CheckParkingTable(facts);
  if (GetParam().problem == nullptr) {
    EXPECT_TRUE(judged.ok()) << judged;
    EXPECT_EQ(FirstError(findings), nullptr);
    return;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(judged));
  EXPECT_THAT(std::string(judged.message()), HasSubstr(GetParam().problem));
  const std::string id = GetParam().id;
  EXPECT_EQ(ReasonCodeOf(judged), id == kReasonParkedTableMissing ? id : "");
  ASSERT_NE(FirstError(findings), nullptr) << "check says what run does";
  EXPECT_EQ(FirstError(findings)->id, FindingId(id));
}

INSTANTIATE_TEST_SUITE_P(All, ParkingTableFactsTest, ::testing::ValuesIn(kRows),
                         [](const auto& row) {
                           return std::string(row.param.name);
                         });

TEST(ParkingTableFactsTest, AMissingTableIsMadeIfItIsWanted) {
  ParkingTableFacts facts = Facts();
  EXPECT_FALSE(MustMakeTable(facts));
  facts.is_current = false;
  EXPECT_TRUE(MustMakeTable(facts));
  facts.oid = 0;
  EXPECT_TRUE(MustMakeTable(facts));
  facts.is_wanted = false;
  EXPECT_FALSE(MustMakeTable(facts));
}

TEST(ParkingTableFactsTest, CheckWarnsIfNothingWouldNoticeItsLoss) {
  ParkingTableFacts facts = Facts();
  EXPECT_EQ(CheckParkingTable(facts).at(0).severity, Severity::kOk);
  facts.may_record = false;
  EXPECT_EQ(CheckParkingTable(facts).at(0).severity, Severity::kWarning);
}

}  // namespace
}  // namespace walpost
