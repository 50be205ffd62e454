#include "outbox/similar_table.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const std::vector<std::string> kTables = {
    "public.events", "public.orders", "billing.outbox", "public.Customer",
    "public.entry",  "public.inbox",  "app.payments",   "public.address",
};

struct SimilarCase {
  const char* name;
  const char* wanted;
  const char* found;
};

class SimilarNameTest : public testing::TestWithParam<SimilarCase> {};

TEST_P(SimilarNameTest, IsFoundIfTheNameLooksLikeASlip) {
  EXPECT_EQ(SimilarTable(GetParam().wanted, kTables), GetParam().found);
}

INSTANTIATE_TEST_SUITE_P(
    , SimilarNameTest,
    testing::Values(
        SimilarCase{"ALetterIsMissing", "public.evnts", "public.events"},
        SimilarCase{"TwoAreSwapped", "public.evenst", "public.events"},
        SimilarCase{"Singular", "public.event", "public.events"},
        SimilarCase{"PluralWithEs", "public.addresses", "public.address"},
        SimilarCase{"PluralOfY", "public.entries", "public.entry"},
        SimilarCase{"Case", "public.customer", "public.Customer"},
        SimilarCase{"OtherSchema", "public.outbox", "billing.outbox"},
        SimilarCase{"OtherSchemaAndALetter", "public.payment", "app.payments"},
        SimilarCase{"AnotherWord", "public.outbox_events", ""},
        SimilarCase{"AShortWordIsNear", "public.order", "public.orders"},
        SimilarCase{"TwoLettersOfAShortWord", "public.ordres2", ""}),
    [](const auto& test) { return test.param.name; });

TEST(SimilarTableTest, TheNearestIsFirst) {
  EXPECT_EQ(SimilarTable("app.events", {"other.events", "app.event"}),
            "other.events");
  EXPECT_EQ(SimilarTable("public.outbox", {}), "");
  EXPECT_EQ(SimilarTable("public.outbox", {"public.inbox"}), "");
  EXPECT_EQ(SimilarTable("public.ordres2", {"public.orders"}), "");
}

}  // namespace
}  // namespace walpost
