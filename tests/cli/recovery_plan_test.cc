// walpost recover: what it would do, what it gives up, and what it puts on
// record.
#include "cli/recovery/recovery_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using Kind = GapDiagnosis::Kind;

class RecoveryPlanTest : public ::testing::Test {
 protected:
  RecoveryPlanTest() {
    config_.postgres.slot = "orders";
    GapDiagnosis& diagnosis = plan_.inspection.diagnosis;
    diagnosis.kind = Kind::kGap;
    diagnosis.gap = "slot_advanced";
    diagnosis.text = "the slot is ahead";
    diagnosis.known_coverage = "16388:690";
    diagnosis.birth.emplace();
    diagnosis.birth->slot = "orders";
    diagnosis.birth->streamed_from = 700;
    plan_.inspection.kafka_cluster = "cluster";
    plan_.inspection.wal_end = Lsn(0x500);
    plan_.range.text = "all rows";
  }

  void SetSlot() {
    SlotState slot;
    slot.confirmed_flush_lsn = Lsn(0x300);
    plan_.inspection.diagnosis.slot = slot;
    plan_.inspection.pending_bytes = 0x200;
  }
  SlotRecovery::Founding Founding() const {
    return FoundingOf(plan_, wish_, MissingRows(nullptr));
  }
  std::string Text() const { return Describe(plan_, config_, wish_); }
  absl::Status Check() const { return CheckPlan(plan_, config_, wish_); }

  Config config_;
  RecoveryPlan plan_;
  RecoveryOptions wish_;
};

TEST_F(RecoveryPlanTest, P11AllRowsArePublishedOnlyIfNoneIsLeftOut) {
  SlotRecovery::Founding founding = Founding();
  EXPECT_TRUE(founding.all_published);
  EXPECT_EQ(founding.before, std::nullopt);
  EXPECT_EQ(founding.kafka_cluster, "cluster");
  EXPECT_EQ(founding.known_coverage, "16388:690");
  // Earlier transactions were delivered, as far back as the old slot goes.
  plan_.range.from_transaction = 745;
  founding = Founding();
  EXPECT_FALSE(founding.all_published);
  ASSERT_TRUE(founding.before.has_value());
  EXPECT_EQ(founding.before->streamed_from, 700u);
  // The operator's word proves nothing about earlier rows.
  wish_.since = "1d";
  founding = Founding();
  EXPECT_FALSE(founding.all_published);
  EXPECT_EQ(founding.before, std::nullopt);
  plan_.range.from_transaction = 0;
  founding = Founding();
  EXPECT_FALSE(founding.all_published);
  EXPECT_EQ(founding.before, std::nullopt);
}

TEST_F(RecoveryPlanTest, SaysWhatIsGivenUp) {
  EXPECT_EQ(Text(),
            "gap: slot_advanced: the slot is ahead\n"
            "range: all rows\n"
            "slot orders does not exist\n"
            "given up: rows that were deleted since\n");
  SetSlot();
  wish_.dry_run = true;
  EXPECT_THAT(Text(), HasSubstr("slot orders stands at 0/300, 512 bytes before "
                                "the end of the WAL (0/500)\n"));
  EXPECT_THAT(Text(),
              HasSubstr("would be given up: rows that were deleted since; if "
                        "the slot has them it is kept, and sends them\n"));
  wish_.force = true;
  EXPECT_THAT(Text(), HasSubstr("512 bytes of WAL in the slot: rows in it that "
                                "were deleted since\n"));
  config_.outbox.messages.prefix = "outbox";
  EXPECT_THAT(Text(), HasSubstr("since, and logical messages, which cannot be "
                                "recovered\n"));
  plan_.inspection.pending_messages = "3 logical messages";
  EXPECT_THAT(Text(), HasSubstr("since, and 3 logical messages, which cannot"));
  wish_.accept = true;
  EXPECT_THAT(Text(), HasSubstr("they are neither looked for nor published"));
}

TEST_F(RecoveryPlanTest, P9WithoutAGapAnOperatorMustInsist) {
  EXPECT_TRUE(Check().ok());
  for (const Kind kind : {Kind::kNone, Kind::kNothingKnown}) {
    plan_.inspection.diagnosis.kind = kind;
    wish_ = {};
    const absl::Status refused = Check();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(kind == Kind::kNone ? "is in order"
                                              : "nothing is on record"));
    wish_.dry_run = true;
    EXPECT_TRUE(Check().ok());
    wish_ = {};
    wish_.force = true;
    EXPECT_TRUE(Check().ok());
    wish_.accept = true;
    EXPECT_THAT(std::string(Check().message()), HasSubstr("none to accept"));
  }
  plan_.inspection.diagnosis.kind = Kind::kGap;
  EXPECT_TRUE(Check().ok());
}

TEST_F(RecoveryPlanTest, ARunningInstanceComesFirst) {
  EXPECT_FALSE(plan_.inspection.is_in_use());
  SetSlot();
  EXPECT_FALSE(plan_.inspection.is_in_use());
  plan_.inspection.diagnosis.slot->active = true;
  EXPECT_TRUE(plan_.inspection.is_in_use());
  EXPECT_THAT(std::string(SlotIsInUse(config_).message()),
              HasSubstr("slot orders is in use"));
}

}  // namespace
}  // namespace walpost
