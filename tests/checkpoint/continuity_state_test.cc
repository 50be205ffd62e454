// P9: what is known from before, against the server that is there now.
#include "checkpoint/continuity_state.h"

#include <gtest/gtest.h>

#include "base/kafka_cluster.h"
#include "base/reason_code.h"
#include "support/memory_sink.h"

namespace walpost {
namespace {

constexpr char kCoverage[] = "16388:690,public.outbox=16385.r16394:691";
// Once it is streamed under.
constexpr char kStreamed[] =
    "16388:690,public.outbox=16385.r16394:691,*=passed";
constexpr char kMore[] = ",public.more=16400.r16401:692";
constexpr RecordFence kFence{912, WallTime(std::chrono::seconds(7))};
constexpr char kAlteredCoverage[] = "16388:700,public.outbox=16385.r16394:691";

class ContinuityStateTest : public ::testing::Test {
 protected:
  using AfterPromotion = ContinuityState::AfterPromotion;
  explicit ContinuityStateTest(AfterPromotion after = AfterPromotion::kAtSlot)
      : continuity_("orders", progress_, after) {
    sender_.SetSink(&sink_);
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
    continuity_.Observe(server, std::move(record));
    return continuity_.Continue();
  }

  // A first stream, which has confirmed something.
  void Stream(uint64_t confirmed) {
    ASSERT_TRUE(Continue(Server(), Record()).ok());
    ASSERT_TRUE(continuity_.Begin(Lsn(100)).ok());
    continuity_.OnStreaming();
    progress_.OnKeepalive(Lsn(confirmed));
  }

  testing::MemorySink sink_;
  Sender sender_{MakeBuilder(), {}};
  WalProgress progress_{sender_};
  ContinuityState continuity_;
};

std::string CodeOf(const absl::Status& status) { return ReasonCodeOf(status); }

TEST_F(ContinuityStateTest, AFirstStartKnowsNothing) {
  ASSERT_TRUE(Continue(Server()).ok());
  EXPECT_TRUE(continuity_.is_first_start());
  ASSERT_TRUE(continuity_.Begin(Lsn(100)).ok());
  EXPECT_EQ(continuity_.birth(), Lsn(100));
  const BirthRecord record = continuity_.RecordOfBirth(Record());
  EXPECT_EQ(continuity_.coverage(), kStreamed);
  EXPECT_EQ(record.coverage, kCoverage) << "the checkpoint has the rest";
  EXPECT_TRUE(record.added) << "later tables are kept on it";
}

TEST_F(ContinuityStateTest, ARecordMakesItASecondStart) {
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  EXPECT_FALSE(continuity_.is_first_start());
  EXPECT_EQ(continuity_.birth(), Lsn(100));
}

// If its checkpoint is missing, events are sent again.
TEST_F(ContinuityStateTest, P5ASlotIsUsedOnceItHasConfirmedMoreThanItsBirth) {
  EXPECT_FALSE(continuity_.slot_was_used());
  ObservedSource server = Server();
  ASSERT_TRUE(Continue(server, Record()).ok());
  EXPECT_FALSE(continuity_.slot_was_used()) << "it stands at its birth";
  server.slot->confirmed = Lsn(101);
  ASSERT_TRUE(Continue(server, Record()).ok());
  EXPECT_TRUE(continuity_.slot_was_used());
  server.slot->confirmed = Lsn(99);
  continuity_.Observe(server, Record());
  EXPECT_FALSE(continuity_.slot_was_used());
  server.slot.reset();
  continuity_.Observe(server, Record());
  EXPECT_FALSE(continuity_.slot_was_used());
}

// A queue is not read back, and the record has the code of the gap alone.
TEST_F(ContinuityStateTest, P9AGapOnRecordHasTheRemedyOfTheBrokers) {
  BirthRecord record = Record();
  record.gap = kGapSlotAdvanced;
  for (const bool is_rabbitmq : {false, true}) {
    record.kafka_cluster = is_rabbitmq ? kUnnamedRabbitmq : kUnnamedNats;
    const std::string text(Continue(Server(), record).message());
    EXPECT_EQ(text.find("--since TIME") != std::string::npos, is_rabbitmq)
        << text;
  }
}

TEST_F(ContinuityStateTest, P9ARecordKnowsWhatThePublicationCovered) {
  ObservedSource server = Server();
  server.coverage = kAlteredCoverage;
  EXPECT_EQ(CodeOf(Continue(server, Record())), kGapCoverageChanged);
  ASSERT_TRUE(continuity_.RecordOfGap());
  EXPECT_EQ(continuity_.RecordOfGap()->gap, kGapCoverageChanged);
  EXPECT_EQ(continuity_.RecordOfGap()->coverage, kCoverage);
}

TEST_F(ContinuityStateTest, P9ARunningProcessKnowsItWithoutARecord) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.coverage = kAlteredCoverage;
  EXPECT_EQ(CodeOf(Continue(server)), kGapCoverageChanged);
  const std::optional<BirthRecord> record = continuity_.RecordOfGap();
  ASSERT_TRUE(record) << "somebody has wiped it out";
  EXPECT_EQ(record->slot, "orders");
  EXPECT_EQ(record->consistent_point, Lsn(100));
  EXPECT_EQ(record->streamed_from, 0u) << "it proves nothing";
}

// An attempt that fails behind it has taken up nothing.
TEST_F(ContinuityStateTest, AFormerNameIsKnownUntilThereIsAStream) {
  ObservedSource server = Server();
  Coverage coverage = Coverage::Parse(kCoverage);
  const std::string former = coverage.tables.front().name;
  coverage.tables.front().name = "public.renamed";
  server.coverage = coverage.ToString();
  for (int attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_TRUE(Continue(server, Record()).ok());
    EXPECT_EQ(continuity_.former_names(), std::vector<std::string>{former})
        << attempt;
  }
}

// Who had the slot meanwhile streams under another publication than ours.
TEST_F(ContinuityStateTest, WhatAnotherInstanceStreamedUnderIsNotOurs) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ASSERT_TRUE(continuity_.OnSlotInUse(true).ok());
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  server.coverage = kAlteredCoverage;
  EXPECT_TRUE(Continue(server).ok());
  EXPECT_EQ(continuity_.coverage(),
            kAlteredCoverage + std::string(",*=passed"));
}

TEST_F(ContinuityStateTest, P9AGapStaysUntilAnOperatorEndsIt) {
  continuity_.SetCheckpoint(CheckpointAt(400));
  ObservedSource server = Server();
  server.wal_end = Lsn(300);
  EXPECT_EQ(CodeOf(Continue(server, Record())), kGapServerBehind);
  const BirthRecord kept = *continuity_.RecordOfGap();
  // Writers carry the server past it.
  server.wal_end = Lsn(1'000);
  EXPECT_EQ(CodeOf(Continue(server, kept)), kGapServerBehind);
  EXPECT_FALSE(continuity_.RecordOfGap()) << "it is on record";
  // Somebody wipes the record out: that is no operator's act.
  EXPECT_EQ(CodeOf(Continue(server)), kGapServerBehind);
  continuity_.SetCheckpoint(CheckpointAt(100));
  EXPECT_TRUE(absl::IsAborted(Continue(server, Record())));
  EXPECT_TRUE(continuity_.TakeStartOver());
  EXPECT_FALSE(continuity_.TakeStartOver());
  EXPECT_TRUE(Continue(server, Record()).ok());
}

TEST_F(ContinuityStateTest, P9AGapThatTheStreamFoundIsKeptLikewise) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  continuity_.Latch({kGapWalForked, "another transaction stands there"});
  EXPECT_EQ(CodeOf(Continue(Server(), Record())), kGapWalForked);
  EXPECT_EQ(continuity_.RecordOfGap()->gap, kGapWalForked);
}

TEST_F(ContinuityStateTest, P9AGapOfAnotherSystemIsNotPutOnItsRecord) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.system_identifier = "8";
  EXPECT_EQ(CodeOf(Continue(server, Record())), kGapOtherCluster);
  EXPECT_FALSE(continuity_.RecordOfGap());
}

// Nothing is written into the checkpoint of another system. An operator puts
// one of this system in its place.
TEST_F(ContinuityStateTest,
       P9AGapOfAForeignCheckpointEndsWhenOneOfOursIsThere) {
  Checkpoint foreign = CheckpointAt(100);
  foreign.system_identifier = "8";
  continuity_.SetCheckpoint(foreign);
  EXPECT_EQ(CodeOf(Continue(Server())), kGapOtherCluster);
  EXPECT_EQ(CodeOf(Continue(Server())), kGapOtherCluster);
  Checkpoint with_gap = CheckpointAt(100);
  with_gap.gap = kGapOtherCluster;
  continuity_.SetCheckpoint(with_gap);
  EXPECT_EQ(CodeOf(Continue(Server())), kGapOtherCluster) << "it keeps the gap";
  continuity_.SetCheckpoint(CheckpointAt(100));
  EXPECT_TRUE(absl::IsAborted(Continue(Server())));
  EXPECT_TRUE(Continue(Server()).ok());
}

// Who moves the slot writes the checkpoint first; it may be read in between.
TEST_F(ContinuityStateTest, ASlotAheadOfItsCheckpointIsLookedAtTwice) {
  continuity_.SetCheckpoint(CheckpointAt(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  EXPECT_EQ(CodeOf(Continue(server)), kGapSlotAdvanced);
}

// Without a store, a second instance that had the slot for a moment is not
// noticed by its holding it.
TEST_F(ContinuityStateTest, ASlotThatAnotherInstanceMayHaveMovedIsNotAGap) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  EXPECT_TRUE(continuity_.suspects_another_instance());
  ASSERT_TRUE(continuity_.OnSlotInUse(/*by_walpost=*/true).ok());
  EXPECT_TRUE(Continue(server).ok());
  EXPECT_FALSE(continuity_.suspects_another_instance());
}

TEST_F(ContinuityStateTest, P9WithACheckpointNoOtherInstanceIsSuspected) {
  continuity_.SetCheckpoint(CheckpointAt(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  EXPECT_FALSE(continuity_.suspects_another_instance());
}

TEST_F(ContinuityStateTest, ACheckpointThatHasMovedOnIsLookedAtTwiceAgain) {
  continuity_.SetCheckpoint(CheckpointAt(200));
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  continuity_.SetCheckpoint(CheckpointAt(250));
  EXPECT_TRUE(absl::IsUnavailable(Continue(server)));
  continuity_.SetCheckpoint(CheckpointAt(300));
  EXPECT_TRUE(Continue(server).ok());
}

TEST_F(ContinuityStateTest, P3APromotionStartsARunningProcessOver) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.timeline = 2;
  server.slot->failover = true;
  continuity_.Observe(server, Record());
  EXPECT_EQ(continuity_.left_timeline(), 1u);
  continuity_.SetFork(Lsn(150));
  EXPECT_TRUE(absl::IsAborted(continuity_.Continue()));
  EXPECT_FALSE(continuity_.promotion().empty());
  EXPECT_TRUE(continuity_.TakeStartOver());
  EXPECT_EQ(continuity_.timeline(), 2u);
}

class PromotionTest : public ContinuityStateTest {
 protected:
  PromotionTest() : ContinuityStateTest(AfterPromotion::kAtCheckpoint) {}

  // The standby has the WAL before `fork`, and the slot is behind.
  absl::Status Promote(uint64_t fork) {
    ObservedSource server = Server();
    server.timeline = 2;
    server.slot->failover = true;
    continuity_.Observe(server, Record());
    EXPECT_EQ(continuity_.left_timeline(), 1u);
    continuity_.SetFork(Lsn(fork));
    return continuity_.Continue();
  }

  static Checkpoint CheckpointOfEvent() {
    Checkpoint checkpoint = CheckpointAt(300);
    checkpoint.position = {Lsn(290), 2};
    return checkpoint;
  }
};

TEST_F(PromotionTest, P5GoesOnBehindAnEventThatTheNewPrimaryHas) {
  continuity_.SetCheckpoint(CheckpointOfEvent());
  ASSERT_TRUE(Promote(295).ok());
  EXPECT_TRUE(sender_.window().Covers({Lsn(290), 2}));
  EXPECT_FALSE(sender_.window().Covers({Lsn(290), 3}));
  EXPECT_EQ(progress_.confirmed(), Lsn(295)) << "the rest is another WAL";
}

// It may be older than what the slot of the new primary was moved for.
TEST_F(PromotionTest, ACheckpointThatHasConfirmedNothingIsLookedAtTwice) {
  continuity_.SetCheckpoint(CheckpointAt(0));
  EXPECT_TRUE(absl::IsUnavailable(Promote(295)));
  continuity_.SetCheckpoint(CheckpointOfEvent());
  EXPECT_TRUE(Promote(295).ok());
}

TEST_F(PromotionTest, P1GoesOnAtTheSlotIfTheEventIsLost) {
  continuity_.SetCheckpoint(CheckpointOfEvent());
  ASSERT_TRUE(Promote(290).ok());
  EXPECT_FALSE(sender_.window().Covers({Lsn(290), 1}));
  EXPECT_EQ(progress_.confirmed(), Lsn());
}

TEST_F(PromotionTest, P1GoesOnAtTheSlotWithoutAnEvent) {
  continuity_.SetCheckpoint(CheckpointAt(300));
  ASSERT_TRUE(Promote(400).ok());
  EXPECT_EQ(progress_.confirmed(), Lsn());
}

// The second time, this process knows the timeline; the checkpoint does not.
TEST_F(PromotionTest, P5ARunningProcessGoesOnAtItsCheckpoint) {
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  ASSERT_TRUE(continuity_.Begin(Lsn(100)).ok());
  continuity_.OnStreaming();
  continuity_.SetCheckpoint(CheckpointOfEvent());
  ASSERT_TRUE(absl::IsAborted(Promote(400)));
  ASSERT_TRUE(continuity_.TakeStartOver());
  progress_.StartOver();
  ASSERT_TRUE(Promote(400).ok());
  EXPECT_TRUE(sender_.window().Covers({Lsn(290), 2}));
  EXPECT_EQ(progress_.confirmed(), Lsn(300));
}

// Another one has followed the promotion, and has the slot.
TEST_F(ContinuityStateTest, P3APromotionStartsAStandbyOver) {
  ASSERT_NO_FATAL_FAILURE(Stream(200));
  ObservedSource server = Server();
  server.timeline = 2;
  continuity_.Observe(server, Record());
  EXPECT_TRUE(absl::IsAborted(continuity_.OnSlotInUse(true)));
  EXPECT_TRUE(continuity_.TakeStartOver());
}

TEST_F(ContinuityStateTest, P5GoesOnAfterTheEventOfTheCheckpoint) {
  Checkpoint checkpoint = CheckpointAt(300);
  checkpoint.position = {Lsn(290), 2};
  continuity_.SetCheckpoint(checkpoint);
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(250);
  ASSERT_TRUE(Continue(server, Record()).ok());
  EXPECT_EQ(progress_.confirmed(), Lsn(300));
  EXPECT_TRUE(sender_.window().Covers({Lsn(290), 2}));
  EXPECT_FALSE(sender_.window().Covers({Lsn(290), 3}));
}

TEST_F(ContinuityStateTest, ASlotThatWentBackBeforeAllThatIsKnownStartsOver) {
  continuity_.SetCheckpoint(CheckpointAt(300));
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  ASSERT_TRUE(continuity_.Begin(Lsn(250)).ok());
  continuity_.OnStreaming();
  EXPECT_TRUE(absl::IsAborted(continuity_.Begin(Lsn(90))));
  EXPECT_TRUE(continuity_.TakeStartOver());
}

// Another instance is suspended, and streams that WAL to its end when it wakes.
TEST_F(ContinuityStateTest, P9ACheckpointOfTheWalBeforeARestoreIsNotContinued) {
  Stream(150);
  Event event;
  event.position = {Lsn(200), 1};
  event.xid = Xid(719);
  event.aggregate_id = "k";
  const std::vector<Value> references = {Value("order")};
  event.references = references;
  ASSERT_EQ(progress_.OnEvent(event, absl::OkStatus()),
            Sender::Offer::kAccepted);
  sender_.Rewind();
  Checkpoint checkpoint = CheckpointAt(230);
  checkpoint.position = {Lsn(180), 2};
  checkpoint.commit_xid = Xid(709);
  continuity_.SetCheckpoint(checkpoint);
  EXPECT_EQ(CodeOf(Continue(Server(), Record())), kGapWalForked);
  EXPECT_EQ(progress_.confirmed(), Lsn(150));
}

// The server was restored from a snapshot: its slot stands at 100.
TEST_F(ContinuityStateTest, P1ACheckpointWithoutAnEventProvesNothingBeforeIt) {
  Checkpoint checkpoint = CheckpointAt(400);
  checkpoint.position = {Lsn(300), 0};
  continuity_.SetCheckpoint(checkpoint);
  ASSERT_TRUE(Continue(Server(), Record()).ok());
  EXPECT_FALSE(progress_.confirmed().is_valid());
  ASSERT_TRUE(continuity_.Begin(Lsn(100)).ok());
  ObservedSource server = Server();
  server.slot->confirmed = Lsn(300);
  ASSERT_TRUE(Continue(server, Record()).ok());
  EXPECT_EQ(progress_.confirmed(), Lsn(400));
}

TEST_F(ContinuityStateTest, TheRecordLearnsWhatAnEarlierStartDidNotKnow) {
  BirthRecord record = Record();
  record.timeline = 0;
  ASSERT_TRUE(Continue(Server(), record).ok());
  const auto update = continuity_.UpdatedRecord("kafka-1", kFence);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->consequence, "");
  EXPECT_EQ(update->record.timeline, 1u);
  EXPECT_EQ(update->record.kafka_cluster, "kafka-1");
  ASSERT_TRUE(Continue(Server(), update->record).ok());
  EXPECT_FALSE(continuity_.UpdatedRecord("kafka-1", kFence));
}

TEST_F(ContinuityStateTest, P11ARecordDoesNotVouchForATableThatIsLeftOut) {
  BirthRecord record = Record();
  record.coverage += kMore;
  ASSERT_TRUE(Continue(Server(), record).ok());
  const auto update = continuity_.UpdatedRecord("", kFence);
  ASSERT_TRUE(update);
  EXPECT_NE(update->consequence.find("left out"), std::string::npos);
  EXPECT_NE(update->record.coverage.find("public.more=left.16400"),
            std::string::npos);
}

// ---- Tables that come later.

class LateTableTest : public ContinuityStateTest {
 protected:
  static ObservedSource ServerWithMore() {
    ObservedSource server = Server();
    server.coverage += kMore;
    server.slot->confirmed = Lsn(200);
    return server;
  }
  static BirthRecord NewRecord(std::string passed = "") {
    BirthRecord record = Record();
    record.coverage += passed;
    record.added.emplace();
    return record;
  }
  static Checkpoint CheckpointWith(std::string passed) {
    Checkpoint checkpoint = CheckpointAt(200);
    checkpoint.coverage += passed;
    return checkpoint;
  }
};

// Without the checkpoint, which may have the table.
TEST_F(LateTableTest, P9ALookBelievesTheRecordOnlyIfItIsAlone) {
  const BirthRecord record = NewRecord(",*=some.16400@0/64");
  EXPECT_FALSE(continuity_.VisibleGap(ServerWithMore(), record));
  continuity_.RelyOnRecord();
  const std::optional<Gap> gap =
      continuity_.VisibleGap(ServerWithMore(), record);
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->code, kGapTablePassedOver);
}

// It was not covered all along.
TEST_F(LateTableTest, P11ATableThatWasAddedHasAProofOfItsOwn) {
  ASSERT_TRUE(Continue(ServerWithMore(), NewRecord(",*=passed")).ok());
  const auto update = continuity_.UpdatedRecord("", kFence);
  ASSERT_TRUE(update);
  EXPECT_EQ(Coverage::Parse(update->record.coverage).tables.size(), 1u);
  const AddedTable* added = FindAdded(update->record, "public.more");
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->from_transaction, kFence.transaction);
  EXPECT_EQ(added->sent_since, kFence.time);
  EXPECT_EQ(added->since, Lsn(200));
  ASSERT_TRUE(Continue(ServerWithMore(), update->record).ok());
  EXPECT_TRUE(continuity_.NewTables().empty());
}

TEST_F(LateTableTest, P9RowsThatACheckpointHasAsPassedOverAreAGap) {
  continuity_.SetCheckpoint(CheckpointWith(",*=passed.16400@0/64"));
  const absl::Status status = Continue(ServerWithMore(), NewRecord());
  EXPECT_EQ(CodeOf(status), kGapTablePassedOver);
  const std::string text(status.message());
  EXPECT_NE(text.find("public.more"), std::string::npos);
  EXPECT_NE(text.find("0/64 or later and before 0/C8"), std::string::npos)
      << text;
  EXPECT_NE(text.find("walpost replay -c FILE --from-table --table public.more "
                      "--missing"),
            std::string::npos);
  ASSERT_TRUE(continuity_.gap());
  EXPECT_FALSE(continuity_.RecordOfGap()) << "the checkpoint has it";
  EXPECT_EQ(CodeOf(Continue(ServerWithMore(), NewRecord())),
            kGapTablePassedOver);
}

TEST_F(LateTableTest, P9ThatGapEndsWhenItIsSettledAndNothingStartsOver) {
  continuity_.SetCheckpoint(CheckpointWith(",*=passed.16400@0/64"));
  EXPECT_FALSE(Continue(ServerWithMore(), NewRecord()).ok());
  continuity_.SetCheckpoint(CheckpointWith(std::string(kMore) + ",*=passed"));
  EXPECT_TRUE(Continue(ServerWithMore(), NewRecord()).ok());
  EXPECT_FALSE(continuity_.gap());
  EXPECT_FALSE(continuity_.TakeStartOver());
}

TEST_F(LateTableTest, ATableWithoutPassedRowsIsTakenUp) {
  continuity_.SetCheckpoint(CheckpointWith(",*=passed.17000@0/64"));
  continuity_.Observe(ServerWithMore(), NewRecord());
  ASSERT_EQ(continuity_.NewTables().size(), 1u);
  EXPECT_EQ(continuity_.NewTables().front().name, "public.more");
  EXPECT_FALSE(continuity_.NewTables().front().is_unknown);
  EXPECT_TRUE(continuity_.Continue().ok());
  continuity_.OnStreaming();
  EXPECT_TRUE(continuity_.NewTables().empty());
  EXPECT_EQ(continuity_.coverage(),
            kCoverage + std::string(kMore) + ",*=passed.17000@0/64");
}

TEST_F(LateTableTest, P1RowsThatTheStreamSendsAgainWereNotPassedOver) {
  continuity_.SetCheckpoint(CheckpointWith(",*=passed.16400@0/C8"));
  EXPECT_TRUE(Continue(ServerWithMore(), NewRecord()).ok());
}

// The checkpoint of an older release; its birth record, without a store.
TEST_F(LateTableTest, P9WithoutARecordTheRowsOfTheTableAreEvidence) {
  continuity_.SetCheckpoint(CheckpointWith(""));
  continuity_.Observe(ServerWithMore(), Record());
  ASSERT_EQ(continuity_.NewTables().size(), 1u);
  EXPECT_TRUE(continuity_.NewTables().front().is_unknown);
  continuity_.SetUnsentRows("public.more", "it has 7 rows", true);
  const absl::Status status = continuity_.Continue();
  EXPECT_EQ(CodeOf(status), kGapTablePassedOver);
  EXPECT_NE(std::string(status.message()).find("it has 7 rows"),
            std::string::npos);
  // The checkpoint keeps it, whoever deletes the rows.
  const auto kept =
      CheckpointOfGap(*continuity_.gap(), CheckpointWith(""), Checkpoint(),
                      continuity_.owner(), WallTime());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->gap, "");
  EXPECT_NE(kept->coverage.find("*=some.16400@0/0"), std::string::npos)
      << kept->coverage;
  EXPECT_EQ(CodeOf(Continue(ServerWithMore(), Record())), kGapTablePassedOver);
  continuity_.SetCheckpoint(CheckpointWith(kMore));
  EXPECT_TRUE(Continue(ServerWithMore(), Record()).ok());
}

class LateTableOnRecordTest : public LateTableTest {
 protected:
  LateTableOnRecordTest() { continuity_.RelyOnRecord(); }
};

TEST_F(LateTableOnRecordTest, AFirstStartKeepsThemOnTheRecord) {
  ASSERT_TRUE(Continue(Server()).ok());
  EXPECT_EQ(continuity_.RecordOfBirth(Record()).coverage, kStreamed);
}

TEST_F(LateTableOnRecordTest, P9TheRecordKnowsWhatWasPassedOver) {
  const BirthRecord record = NewRecord(",*=passed.16400@0/64");
  EXPECT_EQ(CodeOf(Continue(ServerWithMore(), record)), kGapTablePassedOver);
  EXPECT_FALSE(continuity_.RecordOfGap()) << "it is on record";
}

TEST_F(LateTableOnRecordTest, P9ARecordThatKeptNothingLearnsWhatWasFound) {
  continuity_.Observe(ServerWithMore(), NewRecord());
  ASSERT_EQ(continuity_.NewTables().size(), 1u);
  EXPECT_TRUE(continuity_.NewTables().front().is_unknown);
  continuity_.SetUnsentRows("public.more", "", true);
  EXPECT_EQ(CodeOf(continuity_.Continue()), kGapTablePassedOver);
  ASSERT_TRUE(continuity_.RecordOfGap());
  EXPECT_NE(continuity_.RecordOfGap()->coverage.find("*=some.16400@0/0"),
            std::string::npos);
}

// It took up tables without a word.
TEST_F(LateTableOnRecordTest, ARecordOfAnOlderReleaseIsNoEvidence) {
  continuity_.Observe(ServerWithMore(), Record());
  ASSERT_EQ(continuity_.NewTables().size(), 1u);
  EXPECT_FALSE(continuity_.NewTables().front().is_unknown);
  continuity_.SetUnsentRows("public.more", "", false);
  EXPECT_TRUE(continuity_.Continue().ok());
  const auto update = continuity_.UpdatedRecord("", kFence);
  ASSERT_TRUE(update);
  EXPECT_EQ(update->consequence, "");
  EXPECT_TRUE(FindAdded(update->record, "public.more"));
}

TEST_F(LateTableOnRecordTest, P1ANewTableHasToBeOnRecord) {
  ASSERT_TRUE(Continue(ServerWithMore(), NewRecord(",*=passed")).ok());
  const auto update = continuity_.UpdatedRecord("", kFence);
  ASSERT_TRUE(update);
  EXPECT_NE(update->consequence.find("public.more"), std::string::npos);
  // With a store, the checkpoint has it.
  ContinuityState with_store("orders", progress_);
  with_store.Observe(ServerWithMore(), NewRecord());
  ASSERT_TRUE(with_store.Continue().ok());
  EXPECT_EQ(with_store.UpdatedRecord("", kFence)->consequence, "");
}

TEST_F(LateTableOnRecordTest, AnAnnouncedTableIsEnoughForARoleThatMayNotWrite) {
  BirthRecord record = NewRecord();
  record.added->push_back({"public.more", "16400.r16401:692", 900, Lsn(150)});
  ObservedSource server = ServerWithMore();
  continuity_.Observe(server, record);
  ASSERT_EQ(continuity_.NewTables().size(), 1u);
  EXPECT_TRUE(continuity_.NewTables().front().is_unknown);
  server.may_write_record = false;
  continuity_.Observe(server, record);
  ASSERT_EQ(continuity_.NewTables().size(), 1u);
  EXPECT_FALSE(continuity_.NewTables().front().is_unknown);
  EXPECT_EQ(continuity_.NewTables().front().announced_from, 900u);
  ASSERT_TRUE(continuity_.Continue().ok());
  EXPECT_EQ(continuity_.UpdatedRecord("", kFence)->consequence, "");
  continuity_.OnStreaming();
  EXPECT_TRUE(continuity_.NewTables().empty()) << "it was said";
}

TEST_F(LateTableOnRecordTest, P9ARecordThatTheOwnerWritesForUsKeepsNothing) {
  BirthRecord record = NewRecord(std::string(kMore) + ",*=passed");
  ObservedSource server = Server();
  server.may_write_record = false;
  ASSERT_TRUE(Continue(server, record).ok());
  const auto update = continuity_.UpdatedRecord("", kFence);
  ASSERT_TRUE(update);
  EXPECT_NE(update->consequence.find("left out"), std::string::npos);
  EXPECT_EQ(update->record.coverage.find("*=passed"), std::string::npos);
  // Whoever lists the table again has to know.
  ContinuityState later("orders", progress_);
  later.RelyOnRecord();
  later.Observe(ServerWithMore(), update->record);
  EXPECT_EQ(CodeOf(later.Continue()), kGapTablePassedOver);
}

TEST_F(LateTableOnRecordTest, P11AnAddedTableThatIsLeftOutIsMarked) {
  BirthRecord record = NewRecord(",*=passed");
  record.added->push_back(
      {"public.more", "16400.r16401:692", 900, Lsn(150), WallTime()});
  ASSERT_TRUE(Continue(Server(), record).ok());
  const auto update = continuity_.UpdatedRecord("", kFence);
  ASSERT_TRUE(update);
  EXPECT_NE(update->consequence.find("left out"), std::string::npos);
  EXPECT_EQ(FindAdded(update->record, "public.more")->definition,
            "left.16400.r16401:692");
  // And is listed again, with nothing passed over.
  ObservedSource server = ServerWithMore();
  ASSERT_TRUE(Continue(server, update->record).ok());
  const auto again = continuity_.UpdatedRecord("", kFence);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->consequence, "");
  EXPECT_EQ(FindAdded(again->record, "public.more")->definition,
            "16400.r16401:692");
  EXPECT_EQ(FindAdded(again->record, "public.more")->from_transaction, 900u);
}

// ---- Beside the stream, while the checkpoint may be out of reach.

class VisibleGapTest : public ContinuityStateTest {
 protected:
  std::string Code(const ObservedSource& server,
                   const std::optional<BirthRecord>& record = Record()) const {
    const std::optional<Gap> gap = continuity_.VisibleGap(server, record);
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
  continuity_.Latch({kGapKafkaReplaced, "another"});
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
  EXPECT_FALSE(continuity_.gap().has_value());
  EXPECT_EQ(Code(Server()), "");
}

}  // namespace
}  // namespace walpost
