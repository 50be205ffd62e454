// P9: what is known from before, against the server that is there now.
#include "checkpoint/source_memory.h"

#include <gtest/gtest.h>

#include "base/reason_code.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

constexpr char kCoverage[] = "16388:690,public.outbox=16385.r16394:691";
constexpr char kAlteredCoverage[] = "16388:700,public.outbox=16385.r16394:691";

class SourceMemoryTest : public ::testing::Test {
 protected:
  using AfterPromotion = SourceMemory::AfterPromotion;
  explicit SourceMemoryTest(AfterPromotion after = AfterPromotion::kAtSlot)
      : memory_("orders", pipeline_, after) {
    pipeline_.SetSink(&sink_);
  }

  static std::unique_ptr<RecordBuilder> MakeBuilder() {
    OutboxOptions options;
    options.tables.resize(1);
    return RecordBuilder::Create(options).value();
  }

  static ObservedSource Server() {
    ObservedSource server;
    server.system_identifier = "7";
    server.timeline = 1;
    server.wal_end = Lsn(1'000);
    server.slot = ObservedSource::Slot{.confirmed = Lsn(100)};
    server.coverage = kCoverage;
    return server;
  }

  static BirthRecord Record() {
    BirthRecord record;
    record.slot = "orders";
    record.consistent_point = Lsn(100);
    record.system_identifier = "7";
    record.timeline = 1;
    record.coverage = kCoverage;
    return record;
  }

  static Checkpoint CheckpointAt(uint64_t confirmed) {
    Checkpoint checkpoint;
    checkpoint.system_identifier = "7";
    checkpoint.timeline = 1;
    checkpoint.slot = "orders";
    checkpoint.birth = Lsn(100);
    checkpoint.confirmed = Lsn(confirmed);
    checkpoint.coverage = kCoverage;
    return checkpoint;
  }

  absl::Status Continue(const ObservedSource& server,
                        std::optional<BirthRecord> record = std::nullopt) {
    memory_.Observe(server, std::move(record));
    return memory_.Continue();
  }

  // A first stream, which has confirmed something.
  void Stream(uint64_t confirmed) {
    ASSERT_TRUE(Continue(Server(), Record()).ok());
    ASSERT_TRUE(memory_.Begin(Lsn(100)).ok());
    memory_.OnStreaming();
    pipeline_.OnKeepalive(Lsn(confirmed));
  }

  testing::MemorySink sink_;
  Pipeline pipeline_{MakeBuilder(), {}};
  SourceMemory memory_;
};

std::string CodeOf(const absl::Status& status) { return ReasonCodeOf(status); }

TEST_F(SourceMemoryTest, AFirstStartKnowsNothing) {
  ASSERT_TRUE(Continue(Server()).ok());
  EXPECT_TRUE(memory_.is_first_start());
  ASSERT_TRUE(memory_.Begin(Lsn(100)).ok());
  EXPECT_EQ(memory_.birth(), Lsn(100));
  memory_.OnBirth(Record());
  EXPECT_EQ(memory_.coverage(), kCoverage);
}

TEST_F(SourceMemoryTest, ARecordMakesItASecondStart) {
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  EXPECT_FALSE(memory_.is_first_start());
  EXPECT_EQ(memory_.birth(), Lsn(100));
}

TEST_F(SourceMemoryTest, P9ARecordKnowsWhatThePublicationCovered) {
  ObservedSource server = Server();
  server.coverage = kAlteredCoverage;
  EXPECT_EQ(CodeOf(Continue(server, Record())), kGapCoverageChanged);
  ASSERT_TRUE(memory_.RecordOfGap());
  EXPECT_EQ(memory_.RecordOfGap()->gap, kGapCoverageChanged);
  EXPECT_EQ(memory_.RecordOfGap()->coverage, kCoverage);
}

TEST_F(SourceMemoryTest, P9ARunningProcessKnowsItWithoutARecord) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.coverage = kAlteredCoverage;
  EXPECT_EQ(CodeOf(Continue(server)), kGapCoverageChanged);
  const std::optional<BirthRecord> record = memory_.RecordOfGap();
  ASSERT_TRUE(record) << "somebody has wiped it out";
  EXPECT_EQ(record->slot, "orders");
  EXPECT_EQ(record->consistent_point, Lsn(100));
  EXPECT_EQ(record->streamed_from, 0u) << "it proves nothing";
}

// Who had the slot meanwhile streams under another publication than ours.
TEST_F(SourceMemoryTest, WhatAnotherInstanceStreamedUnderIsNotOurs) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ASSERT_TRUE(memory_.OnSlotInUse(true).ok());
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  server.coverage = kAlteredCoverage;
  EXPECT_TRUE(Continue(server).ok());
  EXPECT_EQ(memory_.coverage(), kAlteredCoverage);
}

TEST_F(SourceMemoryTest, P9AGapStaysUntilAnOperatorEndsIt) {
  memory_.SetCheckpoint(CheckpointAt(400));
  ObservedSource server = Server();
  server.wal_end = Lsn(300);
  EXPECT_EQ(CodeOf(Continue(server, Record())), kGapServerBehind);
  const BirthRecord kept = *memory_.RecordOfGap();
  // Writers carry the server past it.
  server.wal_end = Lsn(1'000);
  EXPECT_EQ(CodeOf(Continue(server, kept)), kGapServerBehind);
  EXPECT_FALSE(memory_.RecordOfGap()) << "it is on record";
  // Somebody wipes the record out: that is no operator's act.
  EXPECT_EQ(CodeOf(Continue(server)), kGapServerBehind);
  memory_.SetCheckpoint(CheckpointAt(100));
  EXPECT_TRUE(absl::IsAborted(Continue(server, Record())));
  EXPECT_TRUE(memory_.TakeStartOver());
  EXPECT_FALSE(memory_.TakeStartOver());
  EXPECT_TRUE(Continue(server, Record()).ok());
}

TEST_F(SourceMemoryTest, P9AGapThatTheStreamFoundIsKeptLikewise) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  memory_.Latch({kGapWalForked, "another transaction stands there"});
  EXPECT_EQ(CodeOf(Continue(Server(), Record())), kGapWalForked);
  EXPECT_EQ(memory_.RecordOfGap()->gap, kGapWalForked);
}

TEST_F(SourceMemoryTest, P9AGapOfAnotherSystemIsNotPutOnItsRecord) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.system_identifier = "8";
  EXPECT_EQ(CodeOf(Continue(server, Record())), kGapOtherCluster);
  EXPECT_FALSE(memory_.RecordOfGap());
}

// Nothing is written into the checkpoint of another system. An operator puts
// one of this system in its place.
TEST_F(SourceMemoryTest, P9AGapOfAForeignCheckpointEndsWhenOneOfOursIsThere) {
  Checkpoint foreign = CheckpointAt(100);
  foreign.system_identifier = "8";
  memory_.SetCheckpoint(foreign);
  EXPECT_EQ(CodeOf(Continue(Server())), kGapOtherCluster);
  EXPECT_EQ(CodeOf(Continue(Server())), kGapOtherCluster);
  Checkpoint with_gap = CheckpointAt(100);
  with_gap.gap = kGapOtherCluster;
  memory_.SetCheckpoint(with_gap);
  EXPECT_EQ(CodeOf(Continue(Server())), kGapOtherCluster) << "it keeps the gap";
  memory_.SetCheckpoint(CheckpointAt(100));
  EXPECT_TRUE(absl::IsAborted(Continue(Server())));
  EXPECT_TRUE(Continue(Server()).ok());
}

// Who moves the slot writes the checkpoint first; it may be read in between.
TEST_F(SourceMemoryTest, ASlotAheadOfItsCheckpointIsLookedAtTwice) {
  memory_.SetCheckpoint(CheckpointAt(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  EXPECT_EQ(CodeOf(Continue(server)), kGapSlotAdvanced);
}

// Without a store, a second instance that had the slot for a moment is not
// noticed by its holding it.
TEST_F(SourceMemoryTest, ASlotThatAnotherInstanceMayHaveMovedIsNotAGap) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  EXPECT_TRUE(memory_.suspects_another_instance());
  ASSERT_TRUE(memory_.OnSlotInUse(/*by_walpost=*/true).ok());
  EXPECT_TRUE(Continue(server).ok());
  EXPECT_FALSE(memory_.suspects_another_instance());
}

TEST_F(SourceMemoryTest, P9WithACheckpointNoOtherInstanceIsSuspected) {
  memory_.SetCheckpoint(CheckpointAt(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  EXPECT_FALSE(memory_.suspects_another_instance());
}

TEST_F(SourceMemoryTest, ACheckpointThatHasMovedOnIsLookedAtTwiceAgain) {
  memory_.SetCheckpoint(CheckpointAt(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  memory_.SetCheckpoint(CheckpointAt(250));
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  memory_.SetCheckpoint(CheckpointAt(300));
  EXPECT_TRUE(Continue(server).ok());
}

TEST_F(SourceMemoryTest, P3APromotionStartsARunningProcessOver) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.timeline = 2;
  server.slot->failover = true;
  memory_.Observe(server, Record());
  EXPECT_EQ(memory_.left_timeline(), 1u);
  memory_.SetFork(Lsn(150));
  EXPECT_TRUE(absl::IsAborted(memory_.Continue()));
  EXPECT_FALSE(memory_.promotion().empty());
  EXPECT_TRUE(memory_.TakeStartOver());
  EXPECT_EQ(memory_.timeline(), 2u);
}

class PromotionTest : public SourceMemoryTest {
 protected:
  PromotionTest() : SourceMemoryTest(AfterPromotion::kAtCheckpoint) {}

  // The standby has the WAL before `fork`, and the slot is behind.
  absl::Status Promote(uint64_t fork) {
    ObservedSource server = Server();
    server.timeline = 2;
    server.slot->failover = true;
    memory_.Observe(server, Record());
    EXPECT_EQ(memory_.left_timeline(), 1u);
    memory_.SetFork(Lsn(fork));
    return memory_.Continue();
  }

  static Checkpoint CheckpointOfEvent() {
    Checkpoint checkpoint = CheckpointAt(300);
    checkpoint.position = {Lsn(290), 2};
    return checkpoint;
  }
};

TEST_F(PromotionTest, P5GoesOnBehindAnEventThatTheNewPrimaryHas) {
  memory_.SetCheckpoint(CheckpointOfEvent());
  ASSERT_TRUE(Promote(295).ok());
  EXPECT_TRUE(pipeline_.window().Covers({Lsn(290), 2}));
  EXPECT_FALSE(pipeline_.window().Covers({Lsn(290), 3}));
  EXPECT_EQ(pipeline_.confirmed(), Lsn(295)) << "the rest is another WAL";
}

// It may be older than what the slot of the new primary was moved for.
TEST_F(PromotionTest, ACheckpointThatHasConfirmedNothingIsLookedAtTwice) {
  memory_.SetCheckpoint(CheckpointAt(0));
  EXPECT_TRUE(absl::IsUnavailable(Promote(295)));
  memory_.SetCheckpoint(CheckpointOfEvent());
  EXPECT_TRUE(Promote(295).ok());
}

TEST_F(PromotionTest, P1GoesOnAtTheSlotIfTheEventIsLost) {
  memory_.SetCheckpoint(CheckpointOfEvent());
  ASSERT_TRUE(Promote(290).ok());
  EXPECT_FALSE(pipeline_.window().Covers({Lsn(290), 1}));
  EXPECT_EQ(pipeline_.confirmed(), Lsn());
}

TEST_F(PromotionTest, P1GoesOnAtTheSlotWithoutAnEvent) {
  memory_.SetCheckpoint(CheckpointAt(300));
  ASSERT_TRUE(Promote(400).ok());
  EXPECT_EQ(pipeline_.confirmed(), Lsn());
}

// The second time, this process knows the timeline; the checkpoint does not.
TEST_F(PromotionTest, P5ARunningProcessGoesOnAtItsCheckpoint) {
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  ASSERT_TRUE(memory_.Begin(Lsn(100)).ok());
  memory_.OnStreaming();
  memory_.SetCheckpoint(CheckpointOfEvent());
  ASSERT_TRUE(absl::IsAborted(Promote(400)));
  ASSERT_TRUE(memory_.TakeStartOver());
  pipeline_.StartOver();
  ASSERT_TRUE(Promote(400).ok());
  EXPECT_TRUE(pipeline_.window().Covers({Lsn(290), 2}));
  EXPECT_EQ(pipeline_.confirmed(), Lsn(300));
}

// Another one has followed the promotion, and has the slot.
TEST_F(SourceMemoryTest, P3APromotionStartsAStandbyOver) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.timeline = 2;
  memory_.Observe(server, Record());
  EXPECT_TRUE(absl::IsAborted(memory_.OnSlotInUse(true)));
  EXPECT_TRUE(memory_.TakeStartOver());
}

TEST_F(SourceMemoryTest, P5GoesOnAfterTheEventOfTheCheckpoint) {
  Checkpoint checkpoint = CheckpointAt(300);
  checkpoint.position = {Lsn(290), 2};
  memory_.SetCheckpoint(checkpoint);
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(250);
  ASSERT_TRUE(Continue(server, Record()).ok());
  EXPECT_EQ(pipeline_.confirmed(), Lsn(300));
  EXPECT_TRUE(pipeline_.window().Covers({Lsn(290), 2}));
  EXPECT_FALSE(pipeline_.window().Covers({Lsn(290), 3}));
}

TEST_F(SourceMemoryTest, ASlotThatWentBackBeforeAllThatIsKnownStartsOver) {
  memory_.SetCheckpoint(CheckpointAt(300));
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  ASSERT_TRUE(memory_.Begin(Lsn(250)).ok());
  memory_.OnStreaming();
  EXPECT_TRUE(absl::IsAborted(memory_.Begin(Lsn(90))));
  EXPECT_TRUE(memory_.TakeStartOver());
}

// Another instance is suspended, and streams that WAL to its end when it wakes.
TEST_F(SourceMemoryTest, P9ACheckpointOfTheWalBeforeARestoreIsNotContinued) {
  Stream(150);
  Event event;
  event.position = {Lsn(200), 1};
  event.xid = Xid(719);
  event.aggregate_id = "k";
  const std::vector<Value> references = {Value("order")};
  event.references = references;
  ASSERT_EQ(pipeline_.OnEvent(event), Pipeline::Offer::kTaken);
  pipeline_.Rewind();
  Checkpoint checkpoint = CheckpointAt(230);
  checkpoint.position = {Lsn(180), 2};
  checkpoint.commit_xid = Xid(709);
  memory_.SetCheckpoint(checkpoint);
  EXPECT_EQ(CodeOf(Continue(Server(), Record())), kGapWalForked);
  EXPECT_EQ(pipeline_.confirmed(), Lsn(150));
}

// The server was restored from a snapshot: its slot stands at 100.
TEST_F(SourceMemoryTest, P1ACheckpointWithoutAnEventProvesNothingBeforeIt) {
  Checkpoint checkpoint = CheckpointAt(400);
  checkpoint.position = {Lsn(300), 0};
  memory_.SetCheckpoint(checkpoint);
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  EXPECT_FALSE(pipeline_.confirmed().is_valid());
  ASSERT_TRUE(memory_.Begin(Lsn(100)).ok());
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  ASSERT_TRUE(Continue(server, Record()).ok());
  EXPECT_EQ(pipeline_.confirmed(), Lsn(400));
}

TEST_F(SourceMemoryTest, TheRecordLearnsWhatAnEarlierStartDidNotKnow) {
  BirthRecord record = Record();
  record.timeline = 0;
  ASSERT_TRUE(Continue(Server(), record).ok());
  const auto update = memory_.UpdatedRecord("kafka-1");
  ASSERT_TRUE(update);
  EXPECT_FALSE(update->is_required);
  EXPECT_EQ(update->record.timeline, 1u);
  EXPECT_EQ(update->record.kafka_cluster, "kafka-1");
  ASSERT_TRUE(Continue(Server(), update->record).ok());
  EXPECT_FALSE(memory_.UpdatedRecord("kafka-1"));
}

TEST_F(SourceMemoryTest, P11ARecordDoesNotVouchForATableThatIsLeftOut) {
  BirthRecord record = Record();
  record.coverage += ",public.more=16400.r16401:692";
  ASSERT_TRUE(Continue(Server(), record).ok());
  const auto update = memory_.UpdatedRecord("");
  ASSERT_TRUE(update);
  EXPECT_TRUE(update->is_required);
  EXPECT_NE(update->record.coverage.find("public.more=left"),
            std::string::npos);
}

// It was not covered all along.
TEST_F(SourceMemoryTest, P11ARecordDoesNotVouchForATableThatWasAdded) {
  ObservedSource server = Server();
  server.coverage += ",public.more=16400.r16401:692";
  ASSERT_TRUE(Continue(server, Record()).ok());
  EXPECT_FALSE(memory_.UpdatedRecord(""));
}

// ---- Beside the stream, while the checkpoint may be out of reach.

class VisibleGapTest : public SourceMemoryTest {
 protected:
  std::string Code(const ObservedSource& server,
                   const std::optional<BirthRecord>& record = Record()) const {
    const std::optional<Gap> gap = memory_.VisibleGap(server, record);
    return gap ? gap->code : "";
  }
};

TEST_F(VisibleGapTest, P10ARecordShowsWhatIsWrongWithoutTheCheckpoint) {
  EXPECT_EQ(Code(Server()), "");
  ObservedSource server = Server();
  server.slot.reset();
  EXPECT_EQ(Code(server), kGapSlotMissing);
  server = Server();
  server.slot->is_lost = true;
  EXPECT_EQ(Code(server), kGapSlotLost);
  server = Server();
  server.system_identifier = "8";
  EXPECT_EQ(Code(server), kGapOtherCluster);
  server.system_identifier.clear();
  EXPECT_EQ(Code(server), "") << "this role may not read it";
  server = Server();
  server.coverage = kAlteredCoverage;
  EXPECT_EQ(Code(server), kGapCoverageChanged);
  server = Server();
  BirthRecord record = Record();
  record.timeline = 2;
  EXPECT_EQ(Code(server, record), kGapTimelineDiverged);
  record = Record();
  record.gap = kGapSlotAdvanced;
  EXPECT_EQ(Code(server, record), kGapSlotAdvanced) << "it is latched";
}

TEST_F(VisibleGapTest, P10ASlotThatIsLostNeedsNoRecord) {
  ObservedSource server = Server();
  server.slot->is_lost = true;
  EXPECT_EQ(Code(server, std::nullopt), kGapSlotLost);
  server.slot.reset();
  EXPECT_EQ(Code(server, std::nullopt), "") << "a first start makes it";
}

TEST_F(VisibleGapTest, P10ARunningProcessNeedsNoRecord) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.slot.reset();
  EXPECT_EQ(Code(server, std::nullopt), kGapSlotMissing);
  server = Server();
  server.wal_end = Lsn(150);
  EXPECT_EQ(Code(server, std::nullopt), kGapServerBehind);
  memory_.Latch({kGapKafkaReplaced, "another"});
  EXPECT_EQ(Code(Server(), std::nullopt), kGapKafkaReplaced);
}

// The checkpoint would tell, which cannot be read.
TEST_F(VisibleGapTest, P9WhatAnotherInstanceMayHaveDoneIsNoGapYet) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_EQ(Code(server), "") << "it has moved the slot";
  server.timeline = 2;
  EXPECT_EQ(Code(server), "") << "it has followed a promotion";
  server.slot.reset();
  EXPECT_EQ(Code(server), kGapSlotMissing);
}

TEST_F(VisibleGapTest, NothingIsLatchedByALook) {
  ObservedSource server = Server();
  server.slot.reset();
  EXPECT_EQ(Code(server), kGapSlotMissing);
  EXPECT_FALSE(memory_.gap().has_value());
  EXPECT_EQ(Code(Server()), "");
}

}  // namespace
}  // namespace walpost
