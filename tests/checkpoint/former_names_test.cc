#include "checkpoint/former_names.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

std::vector<TableOptions> Table(
    std::optional<std::vector<std::string>> formerly) {
  TableOptions table;
  table.name = "public.events";
  table.formerly = std::move(formerly);
  return {table};
}

TEST(FormerNamesTest, ATableThatKeptItsNameNeedsNone) {
  EXPECT_TRUE(RequireFormerNames(Table(std::nullopt), {""}).ok());
  EXPECT_TRUE(RequireFormerNames(Table(std::nullopt), {}).ok());
}

TEST(FormerNamesTest, ARenamedOneSaysHowItWasCalled) {
  const absl::Status none =
      RequireFormerNames(Table(std::nullopt), {"public.outbox"});
  EXPECT_TRUE(absl::IsFailedPrecondition(none));
  EXPECT_NE(none.message().find("formerly: [public.outbox]"),
            std::string::npos);
  const std::vector<std::string> both = {"a.first", "public.outbox"};
  EXPECT_TRUE(RequireFormerNames(Table(both), {"public.outbox"}).ok());
}

// The oldest name stays in front: the record has that one.
TEST(FormerNamesTest, AnotherNameIsAddedAtTheEnd) {
  const std::vector<std::string> first = {"a.first"};
  const absl::Status lacks =
      RequireFormerNames(Table(first), {"public.outbox"});
  EXPECT_NE(lacks.message().find("formerly: [a.first, public.outbox]"),
            std::string::npos);
}

TEST(FormerNamesTest, AnEmptyListSaysThatItIsAnotherTable) {
  const std::vector<std::string> none;
  EXPECT_TRUE(RequireFormerNames(Table(none), {"public.outbox"}).ok());
}

}  // namespace
}  // namespace walpost
