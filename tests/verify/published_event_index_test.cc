#include "verify/published_event_index.h"

#include <gtest/gtest.h>

#include "verify/id_uniqueness.h"

namespace walpost {
namespace {

using Answer = PublishedEventIndex::Answer;

constexpr char kUuid[] = "10000000-0000-4000-8000-000000000000";

class PublishedEventIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = PublishedEventIndex::CreateEmpty(::testing::TempDir());
    ASSERT_TRUE(created.ok()) << created.status();
    known_ = *std::move(created);
    ASSERT_TRUE(known_->Add({"orders", "7", "key", "value"}).ok());
    ASSERT_TRUE(known_->Add({"orders", kUuid, "key", "value"}).ok());
  }

  Answer Ask(const PublishedEventIndex::Candidate& row) {
    const auto answer = known_->Ask(row);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(Answer::kUnknown);
  }

  std::unique_ptr<PublishedEventIndex> known_;
};

TEST_F(PublishedEventIndexTest, AnEventIsKnownByAllOfIt) {
  EXPECT_EQ(Ask({"orders", "7", "key", "value"}), Answer::kKnown);
  EXPECT_EQ(Ask({"orders", "8", "key", "value"}), Answer::kUnknown);
  EXPECT_EQ(Ask({"invoices", "7", "key", "value"}), Answer::kUnknown);
}

TEST_F(PublishedEventIndexTest, AClaimCheckStandsForItsPayload) {
  ASSERT_TRUE(known_->Add({"orders", "9", "key", "", Sha256("large")}).ok());
  EXPECT_EQ(Ask({"orders", "9", "key", "large"}), Answer::kKnown);
  EXPECT_EQ(Ask({"orders", "9", "key", ""}), Answer::kSameId);
}

TEST_F(PublishedEventIndexTest, AnIdThatCanRepeatMayBeAnotherEvent) {
  EXPECT_EQ(Ask({"orders", "7", "key", "other"}), Answer::kSameId);
  EXPECT_EQ(Ask({"orders", "7", std::nullopt, "value"}), Answer::kSameId);
  EXPECT_EQ(Ask({"orders", "7", "key", std::nullopt}), Answer::kSameId);
}

TEST_F(PublishedEventIndexTest, AUuidIsOneEventOfItsTopic) {
  EXPECT_EQ(Ask({"orders", kUuid, "key", "other"}), Answer::kAltered);
  EXPECT_EQ(Ask({"invoices", kUuid, "key", "value"}), Answer::kUnknown);
  EXPECT_EQ(Ask({"orders", kUuid, "key", "value"}), Answer::kKnown);
  EXPECT_EQ(Ask({"orders", kUuid, "key", "value"}), Answer::kKnown);
}

TEST_F(PublishedEventIndexTest, OneRecordIsNotTheRecordOfTwoRows) {
  EXPECT_EQ(Ask({"orders", "7", "key", "value"}), Answer::kKnown);
  EXPECT_EQ(Ask({"orders", "7", "key", "value"}), Answer::kTwin);
}

TEST(IdUniquenessTest, OnlyUuidsOfRandomBitsOrAClockAreGivenOnce) {
  for (const char version : {'1', '4', '6', '7'}) {
    std::string uuid = kUuid;
    uuid[14] = version;
    EXPECT_FALSE(CanRepeat(uuid)) << uuid;
  }
  for (const char* id :
       {"7", "", "order-7", "10000000-0000-5000-8000-000000000000",
        "10000000-0000-3000-8000-000000000000",
        "1000000000004000800000000000000000000", "00000000-0000-0000-0000-0007",
        "1000000g-0000-4000-8000-000000000000"}) {
    EXPECT_TRUE(CanRepeat(id)) << id;
  }
}

}  // namespace
}  // namespace walpost
