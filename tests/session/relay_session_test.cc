// The life of a relay: what it does next, and why.
#include "session/relay_session.h"

#include <gtest/gtest.h>

#include "base/error_source.h"
#include "base/sqlstate.h"
#include "session/gated_consumer.h"
#include "support/memory_sink.h"
#include "support/message_feed.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Do = RelaySession::Do;

constexpr MonotonicTime kStart{std::chrono::hours(1)};
constexpr seconds kShutdownTimeout{10};

class RelaySessionTest : public ::testing::Test {
 protected:
  static OutboxOptions Outbox() {
    OutboxOptions options;
    options.tables.resize(1);
    return options;
  }

  RelaySessionTest() { sender_.SetSink(&sink_); }

  void Next(const absl::Status& result = absl::OkStatus()) {
    action_ = session_.Next(result, now_);
  }
  void GoTo(Do what) {
    while (action_.what != what) {
      if (action_.what == Do::kOpen) {
        stream_.Begin({.slot = Lsn(1), .end = Lsn()}, now_, BootTime());
      }
      Next();
    }
  }
  // A stream that lasts `time` ends so.
  void Stream(const absl::Status& end, MonotonicTime::duration time = {}) {
    GoTo(Do::kStream);
    now_ += time;
    stream_.End();
    Next(end);
  }
  void HandInAnEvent() {
    const std::vector<Value> references = {Value("order")};
    Event event;
    event.position = {Lsn(10), 1};
    event.references = references;
    ASSERT_EQ(progress_.OnEvent(event, absl::OkStatus()),
              Sender::Offer::kAccepted);
  }
  milliseconds wait() const {
    return std::chrono::duration_cast<milliseconds>(action_.until - now_);
  }

  testing::MemorySink sink_;
  Sender sender_{RecordBuilder::Create(Outbox()).value(), {}};
  WalProgress progress_{sender_};
  CheckpointWriter checkpoints_{nullptr, milliseconds(100), progress_, [] {}};
  ContinuityState continuity_{"orders", progress_};
  PassedOverRows passed_over_{PassedOverRows::Kept::kOnRecord};
  PauseGate pause_gate_;
  GatedConsumer consumer_{progress_, checkpoints_, passed_over_, pause_gate_};
  WalStream stream_{{}, Outbox(), testing::ReferencesOf(Outbox()), consumer_};
  RelaySession session_{RelaySession::Producing::kSingly,
                        kShutdownTimeout,
                        progress_,
                        checkpoints_,
                        continuity_,
                        pause_gate_,
                        stream_,
                        /*seed=*/1};
  MonotonicTime now_ = kStart;
  RelaySession::Action action_ = session_.Begin();
};

const absl::Status kLost = absl::UnavailableError("the connection is lost");
const absl::Status kWrong = absl::FailedPreconditionError("no table");
const Gap kGap{kGapSlotMissing, "it is gone"};

TEST_F(RelaySessionTest, TheStepsOfAStart) {
  EXPECT_EQ(action_.what, Do::kStartProducer);
  Next();
  EXPECT_EQ(action_.what, Do::kPrepare);
  Next();
  EXPECT_EQ(action_.what, Do::kLoadCheckpoint);
  Next();
  EXPECT_EQ(action_.what, Do::kOpen);
  Next();
  EXPECT_EQ(action_.what, Do::kTakeOver);
  EXPECT_FALSE(session_.has_streamed());
  Next();
  EXPECT_EQ(action_.what, Do::kStream);
  EXPECT_TRUE(session_.has_streamed());
}

// ---- A producer with transactions.

class RelaySessionInTransactionsTest : public RelaySessionTest {
 protected:
  RelaySessionInTransactionsTest() {
    std::destroy_at(&session_);
    std::construct_at(&session_, RelaySession::Producing::kInTransactions,
                      kShutdownTimeout, progress_, checkpoints_, continuity_,
                      pause_gate_, stream_, /*seed=*/1);
    action_ = session_.Begin();
  }
};

// Its id has the name of the system, which the checkpoint's store asks for.
TEST_F(RelaySessionInTransactionsTest,
       TheProducerIsMadeAfterTheCheckpointWasRead) {
  EXPECT_EQ(action_.what, Do::kPrepare);
  Next();
  EXPECT_EQ(action_.what, Do::kLoadCheckpoint);
  Next();
  EXPECT_EQ(action_.what, Do::kStartProducer);
  Next();
  EXPECT_EQ(action_.what, Do::kOpen);
  Next();
  EXPECT_EQ(action_.what, Do::kTakeOver);
}

TEST_F(RelaySessionInTransactionsTest, AnInstanceThatIsToEndFencesNobody) {
  GoTo(Do::kOpen);
  session_.Shutdown(now_);
  Next();
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  EXPECT_TRUE(action_.is_last);
}

TEST_F(RelaySessionInTransactionsTest, P5AProducerServesOneStream) {
  Stream(kLost);
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  EXPECT_EQ(action_.until, now_);
  Next();
  GoTo(Do::kLoadCheckpoint);
  Next();
  EXPECT_EQ(action_.what, Do::kStartProducer);
}

TEST_F(RelaySessionInTransactionsTest, P5AProducerThatTookOverIsSpent) {
  GoTo(Do::kTakeOver);
  Next(kLost);
  EXPECT_EQ(action_.what, Do::kCloseProducer);
}

TEST_F(RelaySessionInTransactionsTest, AStandbyKeepsItsProducer) {
  GoTo(Do::kOpen);
  Next(kLost);
  EXPECT_EQ(action_.what, Do::kWait);
  Next();
  GoTo(Do::kLoadCheckpoint);
  Next();
  EXPECT_EQ(action_.what, Do::kOpen);
}

// ---- Pauses.

const PauseRecord kPause{true, "alice", WallTime(), "upgrade"};
const PauseRecord kResumption{false, "alice", WallTime(), ""};

TEST_F(RelaySessionTest, APauseKeepsTheStreamAndClosesTheGate) {
  EXPECT_TRUE(session_.OnPauseRecord(std::nullopt)) << "it is known now";
  GoTo(Do::kStream);
  EXPECT_TRUE(consumer_.CanTake());
  EXPECT_TRUE(session_.OnPauseRecord(kPause));
  EXPECT_FALSE(session_.OnPauseRecord(kPause));
  EXPECT_FALSE(consumer_.CanTake());
  EXPECT_TRUE(stream_.is_open());
  EXPECT_FALSE(stream_.is_abandoned());
  EXPECT_TRUE(session_.OnPauseRecord(kResumption));
  EXPECT_TRUE(consumer_.CanTake());
}

TEST_F(RelaySessionTest, ARecordInFlightSurvivesAPause) {
  session_.OnPauseRecord(std::nullopt);
  GoTo(Do::kStream);
  HandInAnEvent();
  session_.OnPauseRecord(kPause);
  EXPECT_FALSE(sender_.sink_failure());
  EXPECT_FALSE(stream_.is_abandoned());
}

// Left open, it would be split, or stop the flow, when its time is over.
TEST_F(RelaySessionInTransactionsTest, P5APauseGivesUpAPartThatMustBeWhole) {
  sender_.AwaitCommits(Sender::Boundary::kSource);
  session_.OnPauseRecord(std::nullopt);
  GoTo(Do::kStream);
  HandInAnEvent();
  session_.OnPauseRecord(kPause);
  ASSERT_TRUE(sender_.sink_failure());
  EXPECT_TRUE(absl::IsCancelled(*sender_.sink_failure()));
  EXPECT_TRUE(stream_.is_abandoned());
  Stream(absl::OkStatus());
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  Next();
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_LT(wait(), milliseconds(100)) << "the next stream begins paused";
  EXPECT_FALSE(action_.is_retry);
  EXPECT_FALSE(consumer_.CanTake());
}

// ---- Errors.

TEST_F(RelaySessionTest, AWrongConfigurationEndsItBeforeItEverStreamed) {
  GoTo(Do::kOpen);
  Next(kWrong);
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  EXPECT_TRUE(action_.is_last);
  Next();
  EXPECT_EQ(action_.what, Do::kEnd);
  EXPECT_EQ(action_.reason, kWrong);
}

TEST_F(RelaySessionTest, AWrongConfigurationDoesNotEndAProcessThatHasStreamed) {
  session_.Continue();
  GoTo(Do::kOpen);
  Next(kWrong);
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_TRUE(action_.is_retry);
}

TEST_F(RelaySessionTest, AfterAStreamTheSameErrorIsTriedAgain) {
  Stream(kLost);
  GoTo(Do::kOpen);
  Next(kWrong);
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_TRUE(action_.is_retry);
  EXPECT_EQ(session_.trouble(), kWrong);
}

TEST_F(RelaySessionTest, AnErrorThatPassesIsTriedAgainFromTheStart) {
  GoTo(Do::kLoadCheckpoint);
  Next(kLost);
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_TRUE(action_.is_retry);
  EXPECT_GT(wait(), milliseconds(0));
  EXPECT_LE(wait(), milliseconds(100));
  Next();
  EXPECT_EQ(action_.what, Do::kPrepare) << "the producer is the same";
}

TEST_F(RelaySessionTest, ThereIsNoTroubleWhileItStreams) {
  Stream(kLost);
  EXPECT_EQ(session_.trouble(), kLost);
  GoTo(Do::kStream);
  EXPECT_TRUE(session_.trouble().ok());
}

TEST_F(RelaySessionTest, WaitsGetLongerUntilAStreamLasts) {
  milliseconds longest{};
  for (int i = 0; i < 20; ++i) {
    Stream(kLost);
    longest = std::max(longest, wait());
  }
  EXPECT_GT(longest, seconds(2));
  Stream(kLost, seconds(11));
  EXPECT_LE(wait(), milliseconds(100));
}

TEST_F(RelaySessionTest, DeliveryShortensTheNextWait) {
  for (int i = 0; i < 20; ++i) Stream(kLost);
  session_.OnDelivered();
  Stream(kLost);
  EXPECT_LE(wait(), milliseconds(100));
}

TEST_F(RelaySessionTest, AStandbyTriesOftenAndIsNoFailure) {
  GoTo(Do::kOpen);
  Next(WithSqlstate(absl::UnavailableError("in use"), kSqlstateObjectInUse));
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_EQ(wait(), milliseconds(500));
  EXPECT_FALSE(action_.is_retry);
}

TEST_F(RelaySessionTest, AStreamThatWasLeftIsOpenedAgainAtOnce) {
  Stream(absl::OkStatus());
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_EQ(wait(), milliseconds(0));
  EXPECT_TRUE(session_.trouble().ok());
}

// ---- Gaps.

TEST_F(RelaySessionTest, P9AGapIsLatchedKeptAndRecordedAtOnce) {
  GoTo(Do::kOpen);
  Next(StatusOfGap(kGap));
  EXPECT_EQ(action_.what, Do::kKeepGap) << "not the end: someone must look";
  EXPECT_EQ(continuity_.gap(), kGap);
  Next();
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_EQ(wait(), milliseconds(0));
  GoTo(Do::kOpen);
  Next(StatusOfGap(kGap));
  Next();
  EXPECT_EQ(wait(), milliseconds(2'000));
  EXPECT_FALSE(action_.is_retry);
}

TEST_F(RelaySessionTest, P9AGapFoundBesideTheStreamEndsIt) {
  session_.OnGap(kGap);
  EXPECT_FALSE(session_.has_found_gap()) << "there is no stream";
  GoTo(Do::kStream);
  session_.OnGap(kGap);
  EXPECT_TRUE(stream_.is_abandoned());
  Stream(absl::OkStatus());
  EXPECT_EQ(action_.what, Do::kKeepGap);
  EXPECT_EQ(continuity_.gap(), kGap);
}

TEST_F(RelaySessionTest, P9TheFirstGapBesideAStreamCounts) {
  GoTo(Do::kStream);
  session_.OnGap(kGap);
  session_.OnGap({kGapKafkaReplaced, "another"});
  Stream(absl::OkStatus());
  EXPECT_EQ(continuity_.gap(), kGap);
}

// ---- The producer.

TEST_F(RelaySessionTest, AFailedProducerIsGivenUpAndTheStreamRewound) {
  GoTo(Do::kStream);
  sender_.OnSinkFailed(absl::AbortedError("fatal"));
  session_.OnReports();
  EXPECT_TRUE(stream_.is_abandoned());
  Stream(absl::OkStatus());
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  EXPECT_FALSE(action_.is_last);
  EXPECT_EQ(wait(), milliseconds(2'000)) << "what is on its way may arrive";
  EXPECT_EQ(action_.reason.message(), "fatal");
  Next();
  EXPECT_EQ(sender_.counters().rewinds, 1u);
  EXPECT_FALSE(session_.TakeReset());
  EXPECT_EQ(action_.what, Do::kWait);
  Next();
  EXPECT_EQ(action_.what, Do::kStartProducer);
}

// A producer that fails each time would be ready for a moment again and again.
TEST_F(RelaySessionTest, P10ATroubleThatComesBackLastsUntilADelivery) {
  const absl::Status fatal = absl::AbortedError("fatal");
  for (int i = 0; i < 3; ++i) {
    GoTo(Do::kStream);
    EXPECT_EQ(session_.trouble().ok(), i < 2) << i;
    sender_.OnSinkFailed(fatal);
    Stream(absl::OkStatus());
    Next();
    EXPECT_EQ(session_.trouble(), FromKafka(fatal));
    session_.Watch(now_ + seconds(11));
    EXPECT_EQ(session_.trouble(), FromKafka(fatal)) << "there is no stream";
  }
  GoTo(Do::kStream);
  session_.OnDelivered();
  EXPECT_TRUE(session_.trouble().ok());
}

TEST_F(RelaySessionTest, P10WhatAnOperatorMustMendIsOverWhenAStreamLasts) {
  GoTo(Do::kStream);
  sender_.OnSinkFailed(absl::FailedPreconditionError("denied"));
  Stream(absl::OkStatus());
  Next();
  GoTo(Do::kStream);
  session_.Watch(now_ + seconds(10));
  EXPECT_FALSE(session_.trouble().ok());
  session_.Watch(now_ + seconds(11));
  EXPECT_TRUE(session_.trouble().ok());
}

// The event is set aside, or the flow stops: both are seen elsewhere.
TEST_F(RelaySessionTest, P10RecordsThatAreRejectedAreNoTrouble) {
  sender_.TryAlone(nullptr);
  for (uint64_t n = 1; n <= 20; ++n) {
    GoTo(Do::kStream);
    sender_.OnSinkFailed(absl::AbortedError("gapless"));
    Event event;
    event.position = {Lsn(10), n};
    std::vector<Value> references = {Value("order")};
    event.references = references;
    ASSERT_EQ(progress_.OnEvent(event, absl::OkStatus()),
              Sender::Offer::kBackpressure);
    sender_.Rewind();
    ASSERT_EQ(progress_.OnEvent(event, absl::OkStatus()),
              Sender::Offer::kAccepted);
    sender_.OnSinkFailed(absl::AbortedError("gapless"));
    Stream(absl::OkStatus());
    EXPECT_EQ(action_.what, Do::kCloseProducer);
    EXPECT_TRUE(session_.is_resuming(now_));
    // The report comes while it is closed.
    sender_.OnNotDelivered(sink_.accepted().back().sequence,
                           absl::InvalidArgumentError("too large"));
    Next();
    EXPECT_EQ(action_.what, Do::kWait);
    EXPECT_EQ(wait(), milliseconds(0)) << n;
    EXPECT_TRUE(session_.trouble().ok());
    EXPECT_TRUE(session_.is_resuming(now_));
    EXPECT_FALSE(session_.is_resuming(now_ + seconds(9)));
    GoTo(Do::kStream);
    EXPECT_FALSE(session_.is_resuming(now_));
    event.position = {Lsn(10), n};
    progress_.OnEvent(event, absl::OkStatus());
    progress_.StartOver();
  }
}

// Nothing has come of the last replacement.
TEST_F(RelaySessionTest, TheSameRejectionAgainIsTriedMoreAndMoreRarely) {
  milliseconds longest{};
  for (int i = 0; i < 20; ++i) {
    GoTo(Do::kStream);
    sender_.OnSinkFailed(absl::InvalidArgumentError("too large"));
    Stream(absl::OkStatus());
    Next();
    longest = std::max(longest, wait());
    EXPECT_TRUE(session_.trouble().ok());
  }
  EXPECT_GT(longest, seconds(2));
}

TEST_F(RelaySessionTest, P10AnotherFailureMeanwhileIsTrouble) {
  GoTo(Do::kStream);
  sender_.OnSinkFailed(absl::CancelledError("other credentials"));
  Stream(absl::OkStatus());
  Next();
  EXPECT_TRUE(session_.is_resuming(now_));
  GoTo(Do::kOpen);
  Next(kLost);
  EXPECT_EQ(session_.trouble(), kLost);
  EXPECT_FALSE(session_.is_resuming(now_));
}

// What it still had is purged, and that is no reason.
TEST_F(RelaySessionInTransactionsTest, P10ClosingAHealthyProducerIsNoFailure) {
  for (int i = 0; i < 3; ++i) {
    GoTo(Do::kStream);
    HandInAnEvent();
    Stream(kWrong);
    ASSERT_EQ(action_.what, Do::kCloseProducer);
    sender_.OnNotDelivered(sink_.accepted().back().sequence,
                           absl::AbortedError("purged in queue"));
    Next();
    EXPECT_EQ(session_.trouble(), kWrong);
  }
}

TEST_F(RelaySessionInTransactionsTest,
       P10ARejectionThatIsReportedLastIsTheReason) {
  GoTo(Do::kStream);
  HandInAnEvent();
  Stream(kLost);
  sender_.OnNotDelivered(sink_.accepted().back().sequence,
                         absl::InvalidArgumentError("too large"));
  Next();
  EXPECT_TRUE(session_.trouble().ok());
  EXPECT_EQ(wait(), milliseconds(0));
}

TEST_F(RelaySessionTest, P9AGapComesBeforeTheFailureOfTheProducer) {
  GoTo(Do::kStream);
  session_.OnGap(kGap);
  sender_.OnSinkFailed(absl::AbortedError("fatal"));
  Stream(absl::OkStatus());
  EXPECT_EQ(action_.what, Do::kKeepGap);
  EXPECT_EQ(continuity_.gap(), kGap);
  Next();
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  Next();
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_EQ(GapOf(session_.trouble()), kGap);
}

TEST_F(RelaySessionTest, P2ASuspendedProcessGivesUpWhatIsQueuedAtOnce) {
  Stream(absl::AbortedError("suspended"));
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  EXPECT_EQ(wait(), milliseconds(0));
}

TEST_F(RelaySessionTest, VoidLsnsAreForgotten) {
  ObservedSource server;
  server.system_identifier = "7";
  server.timeline = 1;
  server.wal_end = Lsn(1'000);
  server.slot = ObservedSource::Slot{.confirmed = Lsn(100), .failover = true};
  continuity_.Observe(server, std::nullopt);
  ASSERT_TRUE(continuity_.Continue().ok());
  ASSERT_TRUE(continuity_.Begin(Lsn(100)).ok());
  continuity_.OnStreaming();
  GoTo(Do::kStream);
  Stream(kLost);
  server.timeline = 2;
  continuity_.Observe(server, std::nullopt);
  continuity_.SetFork(Lsn(900));
  GoTo(Do::kOpen);
  const absl::Status promoted = continuity_.Continue();
  ASSERT_TRUE(absl::IsAborted(promoted)) << promoted;
  Next(promoted);
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  Next();
  EXPECT_TRUE(session_.TakeReset());
  EXPECT_FALSE(session_.TakeReset());
  EXPECT_FALSE(progress_.confirmed().is_valid());
}

TEST_F(RelaySessionTest, HeldRecordsAreOfferedAgain) {
  sink_.AnswerWith(absl::UnavailableError("no topic yet"));
  Event event;
  event.position = {Lsn(10), 1};
  event.id = "a";
  std::vector<Value> references = {Value("order")};
  event.references = references;
  GoTo(Do::kStream);
  progress_.OnEvent(event, absl::OkStatus());
  ASSERT_TRUE(sender_.held());
  session_.Watch(now_);
  EXPECT_FALSE(sender_.held());
}

// ---- Poison.

TEST_F(RelaySessionTest, ADamagedStreamWaitsForAnOperatorAtTheThirdTime) {
  for (int i = 0; i < 2; ++i) {
    Stream(absl::DataLossError("damaged"));
    EXPECT_LE(wait(), seconds(1));
  }
  Stream(absl::DataLossError("damaged"));
  EXPECT_EQ(action_.what, Do::kWait);
  EXPECT_EQ(action_.until, MonotonicTime::max());
  EXPECT_TRUE(session_.poison().is_poison());
}

// ---- The end.

TEST_F(RelaySessionTest, P10AShutdownDrainsClosesAndEnds) {
  GoTo(Do::kStream);
  session_.Shutdown(now_);
  EXPECT_TRUE(session_.is_hurried());
  EXPECT_TRUE(stream_.DrainIsOver(now_)) << "nothing is in flight";
  now_ += seconds(1);
  Stream(absl::OkStatus());
  EXPECT_EQ(action_.what, Do::kCloseProducer);
  EXPECT_TRUE(action_.is_last);
  EXPECT_EQ(wait(), milliseconds(2'000));
  Next();
  EXPECT_EQ(action_.what, Do::kEnd);
  EXPECT_TRUE(action_.reason.ok());
}

// Until the source has been looked at again, a gap is on no record.
class NewGapTest : public RelaySessionTest {
 protected:
  NewGapTest() {
    GoTo(Do::kStream);
    session_.OnGap(kGap);
  }
  void ExpectThatItIsRecorded() {
    GoTo(Do::kOpen);
    Next(StatusOfGap(kGap));
    EXPECT_EQ(action_.what, Do::kCloseProducer);
    EXPECT_TRUE(action_.is_last);
  }
};

TEST_F(NewGapTest, P9AShutdownBeforeTheStreamEndsDoesNotForgetIt) {
  session_.Shutdown(now_);
  Stream(absl::OkStatus());
  ASSERT_EQ(action_.what, Do::kKeepGap);
  ExpectThatItIsRecorded();
}

TEST_F(NewGapTest, P9AShutdownWhileItIsKeptDoesNotForgetIt) {
  Stream(absl::OkStatus());
  ASSERT_EQ(action_.what, Do::kKeepGap);
  session_.Shutdown(now_);
  ExpectThatItIsRecorded();
}

TEST_F(NewGapTest, P9AShutdownBeforeTheNextRoundDoesNotForgetIt) {
  Stream(absl::OkStatus());
  Next();
  ASSERT_EQ(action_.what, Do::kWait);
  session_.Shutdown(now_);
  ExpectThatItIsRecorded();
}

TEST_F(NewGapTest, AShutdownOnceItIsRecordedEndsAtOnce) {
  Stream(absl::OkStatus());
  GoTo(Do::kOpen);
  Next(StatusOfGap(kGap));
  session_.Shutdown(now_);
  while (action_.what != Do::kCloseProducer) {
    ASSERT_NE(action_.what, Do::kPrepare);
    Next();
  }
  EXPECT_TRUE(action_.is_last);
}

TEST_F(RelaySessionTest, P10TheProducerIsClosedByTheFirstDeadline) {
  GoTo(Do::kStream);
  session_.Shutdown(now_);
  now_ += seconds(9);
  session_.Shutdown(now_);
  Stream(absl::OkStatus());
  EXPECT_EQ(wait(), milliseconds(1'000));
}

TEST_F(RelaySessionTest, AShutdownWhileItOpensIsDrainedAtOnce) {
  GoTo(Do::kOpen);
  session_.Shutdown(now_);
  stream_.Begin({.slot = Lsn(1), .end = Lsn()}, now_, BootTime());
  Next();
  Next();
  EXPECT_EQ(action_.what, Do::kStream);
  EXPECT_TRUE(stream_.DrainIsOver(now_));
}

TEST_F(RelaySessionTest, AShutdownEndsAnyWaitWithoutAnError) {
  GoTo(Do::kOpen);
  Next(kLost);
  ASSERT_EQ(action_.what, Do::kWait);
  session_.Shutdown(now_);
  Next();
  EXPECT_TRUE(action_.is_last);
  Next();
  EXPECT_TRUE(action_.reason.ok());
}

TEST_F(RelaySessionTest, AShutdownForgivesAConfigurationThatIsWrong) {
  GoTo(Do::kOpen);
  session_.Shutdown(now_);
  Next(kWrong);
  Next();
  EXPECT_EQ(action_.what, Do::kEnd);
  EXPECT_TRUE(action_.reason.ok());
}

TEST_F(RelaySessionTest, AShutdownForgivesAnErrorThatHasEndedIt) {
  GoTo(Do::kOpen);
  Next(kWrong);
  ASSERT_TRUE(action_.is_last);
  session_.Shutdown(now_);
  Next();
  EXPECT_EQ(action_.what, Do::kEnd);
  EXPECT_TRUE(action_.reason.ok());
}

TEST_F(RelaySessionTest, P10TheServersShutdownIsHeldUpForTwoSecondsAtMost) {
  session_.OnServerShutdown(now_);
  EXPECT_FALSE(session_.is_hurried()) << "there is no stream";
  GoTo(Do::kStream);
  session_.OnServerShutdown(now_);
  EXPECT_TRUE(session_.is_hurried());
  EXPECT_TRUE(stream_.DrainIsOver(now_ + seconds(2)));
  Stream(absl::OkStatus());
  EXPECT_EQ(action_.what, Do::kWait) << "and it comes back";
  GoTo(Do::kStream);
  EXPECT_FALSE(session_.is_hurried());
}

}  // namespace
}  // namespace walpost
