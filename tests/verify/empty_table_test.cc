#include "verify/empty_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using Confirmed = Report::Confirmed;
using testing::HasSubstr;

struct Row {
  const char* name;
  Confirmed confirmed;
  std::optional<uint64_t> pending;
  uint64_t records;
  bool is_undecided;
  const char* text;
};

constexpr Row kRows[] = {
    {"nothing was ever there", Confirmed::kAll, {}, 0, false, "no record"},
    {"all was sent", Confirmed::kAll, {}, 9, false, "were not compared"},
    {"nothing is pending", Confirmed::kNotAll, 0, 0, false, "no record"},
    {"the rest was sent", Confirmed::kNotAll, 0, 9, false, "not compared"},
    {"events are pending", Confirmed::kNotAll, 2, 0, true, "2 events are"},
    {"some are, some were sent", Confirmed::kNotAll, 2, 9, true, "2 events"},
    {"that is not known", Confirmed::kNotAll, {}, 0, true, "may be pending"},
    {"nor with records", Confirmed::kNotAll, {}, 9, true, "may be pending"},
    {"no slot, no record", Confirmed::kNeverWill, {}, 0, false, "no record"},
    {"no slot", Confirmed::kNeverWill, {}, 9, true, "without the slot"},
};

TEST(EmptyTableTest, IsUndecidedWhileEventsMayBeMissing) {
  for (const Row& row : kRows) {
    const EmptyTable judged = JudgeEmptyTable(
        {"public.outbox", row.confirmed, row.pending, row.records});
    EXPECT_EQ(judged.is_undecided, row.is_undecided) << row.name;
    EXPECT_THAT(judged.text, HasSubstr(row.text)) << row.name;
    EXPECT_THAT(judged.text, HasSubstr("table public.outbox has no row"));
  }
}

}  // namespace
}  // namespace walpost
