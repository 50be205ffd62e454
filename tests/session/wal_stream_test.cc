// The decisions of a replication stream, from bytes of frames to status
// updates.
#include "session/wal_stream.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "support/message_bytes.h"
#include "support/message_feed.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Next = WalStream::Next;

constexpr uint32_t kOutbox = 16384;
constexpr MonotonicTime kStart{std::chrono::hours(1)};
constexpr BootTime kBoot{std::chrono::hours(2)};

// Notes what it is handed, as words.
class NotingTaker final : public EventConsumer {
 public:
  bool CanTake() const override { return can_take; }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override {
    if (holds) return Offer::kBackpressure;
    said.push_back(mapped.ok() ? std::string(event.id.value_or(""))
                               : "undeliverable");
    return Offer::kAccepted;
  }
  void OnTransactionEnd(Lsn end_lsn) override {
    said.push_back("end " + end_lsn.ToString());
  }
  void OnKeepalive(Lsn wal_end) override {
    said.push_back("alive " + wal_end.ToString());
  }
  Lsn confirmable() const override { return confirmed; }
  bool IsDrained() const override { return is_drained; }
  absl::Status Health() const override { return health; }
  MonotonicTime retry_at() const override { return retry; }

  std::vector<std::string> said;
  bool can_take = true;
  bool holds = false;
  bool is_drained = false;
  Lsn confirmed;
  absl::Status health;
  MonotonicTime retry = MonotonicTime::max();
};

class ListedFrames final : public FrameSource {
 public:
  Read NextFrame() override {
    if (frames.empty()) return has_ended ? Read::kEnded : Read::kEmpty;
    frame_ = frames.front();
    frames.pop_front();
    return Read::kFrame;
  }
  std::string_view frame() const override { return frame_; }
  bool Receive() override { return !is_lost; }
  bool HasInput() const override { return has_input; }
  std::vector<ServerWarning> TakeWarnings() override {
    return std::exchange(warnings, {});
  }
  const absl::Status& status() const override { return error; }
  absl::Status SendStatus(const StatusUpdate& update) override {
    sent.push_back(update);
    return absl::OkStatus();
  }
  bool has_unsent() const override { return unsent; }
  absl::Status Flush() override {
    unsent = false;
    return absl::OkStatus();
  }
  MonotonicTime Now() const override { return now; }

  std::deque<std::string> frames;
  std::vector<ServerWarning> warnings;
  std::vector<StatusUpdate> sent;
  bool has_ended = false;
  bool is_lost = false;
  bool has_input = false;
  bool unsent = false;
  absl::Status error;
  MonotonicTime now = kStart;

 private:
  std::string frame_;
};

class WalStreamTest : public ::testing::Test {
 protected:
  static OutboxOptions Outbox() {
    OutboxOptions options;
    options.tables.resize(1);
    return options;
  }

  static WalStream::Options Options() {
    WalStream::Options options;
    options.slot = "orders";
    options.publication = "walpost";
    options.remedy = "Do this";
    options.wal_sender_timeout = seconds(30);
    options.slot_is_shared = true;
    return options;
  }

  WalStreamTest() { Begin(); }

  void Begin(Lsn end = Lsn()) {
    WalStream::Start start;
    start.slot = Lsn(0x100);
    start.end = end;
    stream_.Begin(start, frames_.now, kBoot);
  }

  void Data(const std::string& message) {
    frames_.frames.push_back(testing::XLogDataFrame(Lsn(1), 0, message));
  }
  void Keepalive(uint64_t wal_end, bool reply_requested = false) {
    frames_.frames.push_back(
        testing::KeepaliveFrame(Lsn(wal_end), 0, reply_requested));
  }
  void BeginTransaction(uint64_t commit_lsn) {
    Data(testing::BeginMessage(Lsn(commit_lsn)));
    if (!std::exchange(is_described_, true)) {
      Data(testing::RelationMessage(
          kOutbox, "public", "outbox",
          {{"id"}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}}));
    }
  }
  void Row(const std::string& id) {
    using testing::Text;
    Data(testing::InsertMessage(
        kOutbox, {Text(id), Text("order"), Text("k"), Text("v")}));
  }
  void Commit(uint64_t commit_lsn) {
    Data(testing::CommitMessage(Lsn(commit_lsn), Lsn(commit_lsn + 8)));
  }
  void Transaction(uint64_t commit_lsn, const std::vector<std::string>& ids) {
    BeginTransaction(commit_lsn);
    for (const std::string& id : ids) Row(id);
    Commit(commit_lsn);
  }

  absl::StatusOr<Next> Take() { return stream_.TakeFrames(frames_); }
  void Pass(MonotonicTime::duration time) { frames_.now += time; }
  using Said = std::vector<std::string>;

  NotingTaker consumer_;
  ListedFrames frames_;
  WalStream stream_{Options(), Outbox(), testing::ReferencesOf(Outbox()),
                    consumer_};
  bool is_described_ = false;
};

// ---- Types.

TEST_F(WalStreamTest, ATypeThatIsNewIsAskedForOnce) {
  const auto begin = [this] {
    stream_.End();
    WalStream::Start start;
    start.base_types.emplace();
    stream_.Begin(start, frames_.now, kBoot);
    frames_.frames.clear();
    Data(testing::BeginMessage(Lsn(0x200)));
    Data(testing::RelationMessage(kOutbox, "public", "outbox",
                                  {{"id", 16500}, {"payload"}}));
    Data(testing::InsertMessage(kOutbox,
                                {testing::Text("a"), testing::Text("v")}));
  };
  begin();
  EXPECT_TRUE(absl::IsUnavailable(Take().status()));
  begin();
  EXPECT_TRUE(Take().ok());
  EXPECT_EQ(consumer_.said, Said{"undeliverable"});  // it has no topic
}

// ---- Tables that are new by their pattern.

TEST_F(WalStreamTest, P1DrainsBeforeRowsOfATableThatIsNewByItsPattern) {
  for (const bool stops : {true, false}) {
    WalStream::Options options = Options();
    options.stops_at_new_tables = stops;
    OutboxOptions outbox = Outbox();
    outbox.patterns.emplace_back().name = "tenant_*.outbox";
    NotingTaker consumer;
    WalStream stream(options, outbox, testing::ReferencesOf(outbox), consumer);
    stream.Begin({.slot = Lsn(0x100), .end = Lsn()}, kStart, kBoot);
    frames_.frames.clear();
    is_described_ = false;
    Transaction(0x200, {"a"});
    Data(testing::BeginMessage(Lsn(0x300)));
    Data(testing::RelationMessage(kOutbox + 1, "tenant_1", "outbox", {{"id"}}));
    Data(testing::InsertMessage(kOutbox + 1, {testing::Text("b")}));
    Commit(0x300);
    Keepalive(0x400);
    const absl::StatusOr<Next> next = stream.TakeFrames(frames_);
    EXPECT_EQ(consumer.said, (Said{"a", "end 0/208"}));
    if (stops) {
      ASSERT_TRUE(next.ok());
      EXPECT_EQ(*next, Next::kRoom);
      EXPECT_EQ(stream.new_table(), "tenant_1.outbox");
      EXPECT_EQ(frames_.frames.size(), 2u);
      EXPECT_EQ(*stream.TakeFrames(frames_), Next::kRoom);
      EXPECT_EQ(frames_.frames.size(), 2u);
    } else {
      EXPECT_TRUE(absl::IsFailedPrecondition(next.status()));
    }
  }
}

// ---- Frames.

TEST_F(WalStreamTest, HandsInEventsAndTheEndOfTheirTransaction) {
  Transaction(0x200, {"a", "b"});
  EXPECT_EQ(*Take(), Next::kReadable);
  EXPECT_EQ(consumer_.said, (Said{"a", "b", "end 0/208"}));
}

TEST_F(WalStreamTest, AHeldEventIsOfferedAgainAndNothingIsReadMeanwhile) {
  consumer_.holds = true;
  Transaction(0x200, {"a", "b"});
  EXPECT_EQ(*Take(), Next::kRoom);
  const size_t unread = frames_.frames.size();
  EXPECT_EQ(*Take(), Next::kRoom);
  EXPECT_EQ(frames_.frames.size(), unread);
  consumer_.holds = false;
  EXPECT_EQ(*Take(), Next::kReadable);
  EXPECT_EQ(consumer_.said, (Said{"a", "b", "end 0/208"}));
}

TEST_F(WalStreamTest, AHeldEventDiesWithItsConnection) {
  consumer_.holds = true;
  Transaction(0x200, {"a"});
  Take().IgnoreError();
  stream_.End();
  frames_.frames.clear();
  consumer_.holds = false;
  Begin();
  EXPECT_EQ(*Take(), Next::kReadable);
  EXPECT_EQ(consumer_.said, Said{});
}

TEST_F(WalStreamTest, NothingIsReadWithoutRoom) {
  consumer_.can_take = false;
  Transaction(0x200, {"a"});
  EXPECT_EQ(*Take(), Next::kRoom);
  EXPECT_EQ(frames_.frames.size(), 4u);
}

TEST_F(WalStreamTest, P2AKeepaliveInATransactionIsNoBoundary) {
  Keepalive(0x180);
  BeginTransaction(0x200);
  Row("a");
  Keepalive(0x300);
  Commit(0x200);
  Take().IgnoreError();
  EXPECT_EQ(consumer_.said, (Said{"alive 0/180", "a", "end 0/208"}));
  EXPECT_EQ(stream_.server_wal_end(), Lsn(0x300));
}

TEST_F(WalStreamTest, OtherWorkIsServedAfterAThousandFrames) {
  for (int i = 0; i < 1001; ++i) Keepalive(0x180);
  EXPECT_EQ(*Take(), Next::kMore);
  EXPECT_EQ(frames_.frames.size(), 1u);
  EXPECT_EQ(*Take(), Next::kReadable);
}

TEST_F(WalStreamTest, ADamagedFrameIsDataLoss) {
  frames_.frames.push_back("?");
  EXPECT_TRUE(absl::IsDataLoss(Take().status()));
}

TEST_F(WalStreamTest, TheTakersReasonStopsTheStream) {
  consumer_.health = absl::FailedPreconditionError("another WAL");
  Transaction(0x200, {"a"});
  EXPECT_EQ(Take().status(), consumer_.health);
}

TEST_F(WalStreamTest, AnEndOfTheServerIsALostConnection) {
  frames_.has_ended = true;
  EXPECT_TRUE(absl::IsUnavailable(Take().status()));
  frames_.error = absl::FailedPreconditionError("its reason");
  EXPECT_EQ(Take().status(), frames_.error);
}

TEST_F(WalStreamTest, ALostConnectionReportsItsError) {
  frames_.is_lost = true;
  frames_.error = absl::UnavailableError("cut");
  EXPECT_EQ(Take().status(), frames_.error);
}

// ---- A range with an end.

TEST_F(WalStreamTest, ACommitAtTheEndIsNotRead) {
  stream_.End();
  Begin(Lsn(0x300));
  Transaction(0x200, {"a"});
  Transaction(0x300, {"b"});
  EXPECT_EQ(*Take(), Next::kEnd);
  EXPECT_TRUE(stream_.reached_end());
  EXPECT_EQ(consumer_.said, (Said{"a", "end 0/208", "end 0/300"}));
}

TEST_F(WalStreamTest, ACommitBeforeTheEndThatReachesItIsTheLast) {
  stream_.End();
  Begin(Lsn(0x204));
  Transaction(0x200, {"a"});
  EXPECT_EQ(*Take(), Next::kEnd);
  EXPECT_EQ(consumer_.said, (Said{"a", "end 0/204"}));
}

TEST_F(WalStreamTest, AKeepaliveAtTheEndReachesItOutsideOfATransaction) {
  stream_.End();
  Begin(Lsn(0x300));
  BeginTransaction(0x200);
  Keepalive(0x300);
  EXPECT_EQ(*Take(), Next::kReadable);
  Commit(0x200);
  Keepalive(0x2FF);
  EXPECT_EQ(*Take(), Next::kReadable);
  Keepalive(0x300);
  EXPECT_EQ(*Take(), Next::kEnd);
}

TEST_F(WalStreamTest, KnowsTheClockOfTheServerFromWhatItSends) {
  constexpr int64_t kSentMicros = 5'000'000;
  frames_.frames.push_back(
      testing::KeepaliveFrame(Lsn(0x200), kSentMicros, false));
  ASSERT_TRUE(Take().ok());
  const ServerClock& clock = stream_.server_clock();
  EXPECT_EQ(clock.Now(frames_.now + seconds(2)),
            FromPostgresMicros(kSentMicros) + seconds(2));
  EXPECT_EQ(clock.heard_at(), frames_.now);
  Pass(seconds(1));
  frames_.frames.push_back(testing::XLogDataFrame(
      Lsn(1), 2 * kSentMicros, testing::BeginMessage(Lsn(0x300))));
  ASSERT_TRUE(Take().ok());
  EXPECT_EQ(clock.Now(frames_.now), FromPostgresMicros(2 * kSentMicros));
  stream_.End();
  Begin();
  EXPECT_EQ(clock.Now(frames_.now), std::nullopt);
}

// ---- Feedback.

TEST_F(WalStreamTest, TellsAtOnceWhereTheSlotStands) {
  ASSERT_TRUE(stream_.SendStatusIfDue(frames_).ok());
  ASSERT_EQ(frames_.sent.size(), 1u);
  EXPECT_EQ(frames_.sent[0].confirmed, Lsn(0x100));
  EXPECT_FALSE(frames_.sent[0].reply_requested);
}

TEST_F(WalStreamTest, P2NeverTellsAnLsnBeforeTheSlot) {
  consumer_.confirmed = Lsn(0x80);
  ASSERT_TRUE(stream_.TellLast(frames_).ok());
  EXPECT_EQ(frames_.sent[0].confirmed, Lsn());
}

TEST_F(WalStreamTest, TellsNewsAfterTheIntervalAndOnRequest) {
  stream_.SendStatusIfDue(frames_).IgnoreError();
  consumer_.confirmed = Lsn(0x200);
  stream_.SendStatusIfDue(frames_).IgnoreError();
  EXPECT_EQ(frames_.sent.size(), 1u);
  Keepalive(0x180, /*reply_requested=*/true);
  Take().IgnoreError();
  stream_.SendStatusIfDue(frames_).IgnoreError();
  ASSERT_EQ(frames_.sent.size(), 2u);
  EXPECT_EQ(frames_.sent[1].confirmed, Lsn(0x200));
  consumer_.confirmed = Lsn(0x300);
  Pass(milliseconds(200));
  stream_.SendStatusIfDue(frames_).IgnoreError();
  EXPECT_EQ(frames_.sent.size(), 3u);
}

TEST_F(WalStreamTest, WhatIsUnsentGoesFirst) {
  frames_.unsent = true;
  ASSERT_TRUE(stream_.SendStatusIfDue(frames_).ok());
  EXPECT_FALSE(frames_.unsent);
  EXPECT_EQ(frames_.sent.size(), 0u);
}

TEST_F(WalStreamTest, ReportsNoLessReceivedThanConfirmed) {
  consumer_.confirmed = Lsn(0x200);
  stream_.SendStatusIfDue(frames_).IgnoreError();
  EXPECT_EQ(frames_.sent[0].received, Lsn(0x200));
}

TEST_F(WalStreamTest, AReaderOfARangeAsksEachTime) {
  WalStream::Options options = Options();
  options.ask_interval = milliseconds(500);
  WalStream stream(options, Outbox(), testing::ReferencesOf(Outbox()),
                   consumer_);
  stream.Begin({.slot = Lsn(0x100), .end = Lsn(0x300)}, kStart, kBoot);
  stream.SendStatusIfDue(frames_).IgnoreError();
  Pass(milliseconds(499));
  stream.SendStatusIfDue(frames_).IgnoreError();
  ASSERT_EQ(frames_.sent.size(), 1u);
  EXPECT_TRUE(frames_.sent[0].reply_requested);
  Pass(milliseconds(1));
  stream.SendStatusIfDue(frames_).IgnoreError();
  EXPECT_EQ(frames_.sent.size(), 2u);
}

// ---- Silence and suspension.

TEST_F(WalStreamTest, AsksAfterASilenceAndGivesUpAfterTheTimeout) {
  stream_.SendStatusIfDue(frames_).IgnoreError();
  Pass(milliseconds(3'000));
  stream_.SendStatusIfDue(frames_).IgnoreError();
  ASSERT_EQ(frames_.sent.size(), 2u);
  EXPECT_TRUE(frames_.sent[1].reply_requested);
  Pass(milliseconds(26'999));
  EXPECT_TRUE(stream_.Check(frames_.now, kBoot).ok());
  Pass(milliseconds(1));
  EXPECT_TRUE(absl::IsUnavailable(stream_.Check(frames_.now, kBoot)));
}

TEST_F(WalStreamTest, TheLimitOfSilenceDoublesUntilDataComes) {
  Pass(seconds(30));
  EXPECT_FALSE(stream_.Check(frames_.now, kBoot).ok());
  stream_.End();
  Begin();
  Pass(seconds(30));
  EXPECT_TRUE(stream_.Check(frames_.now, kBoot).ok());
  for (int i = 0; i < 4; ++i) Keepalive(0x180);
  Take().IgnoreError();
  Pass(seconds(30));
  EXPECT_FALSE(stream_.Check(frames_.now, kBoot).ok());
}

TEST_F(WalStreamTest, SilenceDoesNotCountWhileNothingIsRead) {
  Pass(seconds(29));
  consumer_.can_take = false;
  Take().IgnoreError();
  Pass(seconds(29));
  EXPECT_TRUE(stream_.Check(frames_.now, kBoot).ok());
}

TEST_F(WalStreamTest, APartOfARowIsASignOfLife) {
  Pass(seconds(29));
  frames_.has_input = true;
  Take().IgnoreError();
  EXPECT_EQ(stream_.silence(frames_.now), milliseconds(0));
}

TEST_F(WalStreamTest, P2ASuspendedProcessTakesNothingFromASharedSlot) {
  EXPECT_TRUE(stream_.Check(kStart, kBoot + seconds(14)).ok());
  const absl::Status late = stream_.Check(kStart, kBoot + seconds(29));
  EXPECT_TRUE(absl::IsAborted(late)) << late;
}

TEST_F(WalStreamTest, ATemporarySlotBearsASuspension) {
  WalStream::Options options = Options();
  options.slot_is_shared = false;
  WalStream stream(options, Outbox(), testing::ReferencesOf(Outbox()),
                   consumer_);
  stream.Begin({.slot = Lsn(0x100), .end = Lsn()}, kStart, kBoot);
  EXPECT_TRUE(stream.Check(kStart, kBoot + seconds(29)).ok());
}

// ---- Warnings.

TEST_F(WalStreamTest, P9RowsThatTheServerSkippedStopTheStream) {
  Keepalive(0x180);
  frames_.warnings.push_back({"skipped", /*rows_are_missing=*/true});
  const absl::Status status = Take().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(ReasonCodeOf(status), kReasonPublicationMissing);
  EXPECT_EQ(consumer_.said, Said{}) << "the frame behind the warning was taken";
}

TEST_F(WalStreamTest, AStandbyThatIsWaitedForIsReportedUntilDataComes) {
  frames_.warnings.push_back({"see synchronized_standby_slots", false});
  Take().IgnoreError();
  Pass(seconds(2));
  EXPECT_EQ(stream_.standby_hold().Length(frames_.now), seconds(2));
  BeginTransaction(0x200);
  Take().IgnoreError();
  EXPECT_EQ(stream_.standby_hold().Length(frames_.now), seconds(0));
}

// ---- The end of a stream.

TEST_F(WalStreamTest, ADrainReadsNothingAndEndsWhenAllIsDone) {
  stream_.Drain(kStart + seconds(5));
  Transaction(0x200, {"a"});
  EXPECT_EQ(*Take(), Next::kRoom);
  EXPECT_EQ(consumer_.said, Said{});
  EXPECT_FALSE(stream_.DrainIsOver(kStart));
  consumer_.is_drained = true;
  EXPECT_TRUE(stream_.DrainIsOver(kStart));
}

TEST_F(WalStreamTest, P10ADrainEndsAtTheEarliestDeadline) {
  stream_.Drain(kStart + seconds(5));
  stream_.Drain(kStart + seconds(2));
  stream_.Drain(kStart + seconds(9));
  EXPECT_FALSE(stream_.DrainIsOver(kStart + milliseconds(1'999)));
  EXPECT_TRUE(stream_.DrainIsOver(kStart + seconds(2)));
  EXPECT_LE(stream_.WaitUntil(Next::kRoom, kStart), kStart + seconds(2));
}

TEST_F(WalStreamTest, ADrainOrAnAbandonmentIsForItsConnectionOnly) {
  stream_.Drain(kStart);
  stream_.Abandon();
  stream_.End();
  Begin();
  EXPECT_FALSE(stream_.DrainIsOver(kStart));
  EXPECT_FALSE(stream_.is_abandoned());
}

TEST_F(WalStreamTest, AnAbandonedStreamTakesNothingMore) {
  Transaction(0x200, {"a"});
  stream_.Abandon();
  EXPECT_EQ(*Take(), Next::kEnd);
  EXPECT_EQ(consumer_.said, Said{});
  EXPECT_FALSE(stream_.reached_end());
}

// ---- Waiting.

TEST_F(WalStreamTest, EventsGatherWhileAcknowledgementsTakeTheirTime) {
  consumer_.is_drained = true;
  uint64_t lsn = 0x200;
  const auto take = [&](const std::vector<std::string>& ids) {
    if (!ids.empty()) Transaction(lsn += 0x10, ids);
    Next next = *Take();
    while (next == Next::kMore) next = *Take();
    return next;
  };
  EXPECT_EQ(take({"a"}), Next::kReadable) << "a quiet stream";
  for (int i = 0; i < 100; ++i) {
    Pass(milliseconds(1));
    stream_.OnProgress(frames_.now);
    take({"a"});
  }
  stream_.OnProgress(frames_.now + milliseconds(1));
  EXPECT_EQ(take({"a"}), Next::kPause);
  stream_.SendStatusIfDue(frames_).IgnoreError();
  const auto wait = stream_.WaitUntil(Next::kPause, frames_.now) - frames_.now;
  EXPECT_LE(wait, Options().latency_target);
  EXPECT_GE(wait, milliseconds(2)) << "which two events take";

  const std::vector<std::string> many(100, std::string(200, 'x'));
  EXPECT_EQ(take(many), Next::kPause) << "behind a full read, too";
  EXPECT_EQ(take({}), Next::kReadable) << "nothing has come meanwhile";
}

TEST_F(WalStreamTest, WakesForRoomForNewsAndForTheEnd) {
  stream_.SendStatusIfDue(frames_).IgnoreError();
  consumer_.can_take = false;
  stream_.WaitUntil(Next::kRoom, kStart);
  EXPECT_FALSE(stream_.MustWake());
  consumer_.can_take = true;
  EXPECT_TRUE(stream_.MustWake());

  stream_.WaitUntil(Next::kReadable, kStart);
  EXPECT_FALSE(stream_.MustWake()) << "room, but nothing waits for it";
  consumer_.confirmed = Lsn(0x200);
  EXPECT_TRUE(stream_.MustWake());

  stream_.WaitUntil(Next::kReadable, kStart);
  EXPECT_FALSE(stream_.MustWake()) << "the news have their time";
  stream_.Abandon();
  EXPECT_TRUE(stream_.MustWake());
}

TEST_F(WalStreamTest, AHeldEventIsOfferedAgainWhenItsTakerSaid) {
  stream_.SendStatusIfDue(frames_).IgnoreError();
  consumer_.retry = kStart + milliseconds(5);
  EXPECT_EQ(stream_.WaitUntil(Next::kRoom, kStart), consumer_.retry);
  EXPECT_GT(stream_.WaitUntil(Next::kReadable, kStart), consumer_.retry);
}

TEST_F(WalStreamTest, CountsOverAllConnections) {
  Data(testing::BeginMessage(Lsn(0x200)));
  Data(testing::RelationMessage(9, "public", "orders", {{"id"}}));
  Data(testing::InsertMessage(9, {testing::Text("1")}));
  Take().IgnoreError();
  EXPECT_EQ(stream_.skipped().rows_of_other_tables, 1u);
  stream_.End();
  EXPECT_EQ(stream_.skipped().rows_of_other_tables, 1u);
  Begin();
  EXPECT_EQ(stream_.skipped().rows_of_other_tables, 1u);
}

// A field that is lost while we are away stops the flow, unless its LSNs are
// void.
TEST_F(WalStreamTest, RemembersTheFieldsOfATableUntilItForgets) {
  const auto describe_without_type = [this] {
    Data(testing::RelationMessage(kOutbox, "public", "outbox",
                                  {{"id"}, {"aggregate_type"}, {"payload"}}));
  };
  const auto row = [this] {
    using testing::Text;
    Data(
        testing::InsertMessage(kOutbox, {Text("b"), Text("order"), Text("v")}));
  };
  Transaction(0x200, {"a"});
  Take().IgnoreError();
  stream_.End();
  Begin();
  Data(testing::BeginMessage(Lsn(0x300)));
  describe_without_type();
  row();
  Take().IgnoreError();
  EXPECT_EQ(consumer_.said, (Said{"a", "end 0/208", "undeliverable"}));
  stream_.End();
  stream_.Forget();
  Begin();
  Data(testing::BeginMessage(Lsn(0x300)));
  describe_without_type();
  row();
  Take().IgnoreError();
  EXPECT_EQ(consumer_.said, (Said{"a", "end 0/208", "undeliverable", "b"}));
}

// Otherwise they would be skipped as rows of another table, and confirmed.
TEST_F(WalStreamTest, P9RowsOfARenamedTableStopTheFlow) {
  stream_.End();
  stream_.Begin({.slot = Lsn(0x100), .end = Lsn(), .table_oids = {kOutbox}},
                kStart, kBoot);
  Data(testing::BeginMessage(Lsn(0x200)));
  Data(testing::RelationMessage(kOutbox, "public", "outbox_old",
                                {{"id"}, {"payload"}}));
  Data(testing::InsertMessage(kOutbox,
                              {testing::Text("a"), testing::Text("v")}));
  ASSERT_TRUE(Take().ok());
  EXPECT_EQ(consumer_.said, Said{"undeliverable"});
}

TEST_F(WalStreamTest, ATextMustBeUtf8WhereTheDatabaseTakesAnyBytes) {
  const auto take = [this](bool requires_utf8) {
    stream_.End();
    stream_.Begin({.slot = Lsn(0x100),
                   .end = Lsn(),
                   .table_oids = {},
                   .requires_utf8 = requires_utf8},
                  kStart, kBoot);
    consumer_.said.clear();
    is_described_ = false;
    BeginTransaction(0x200);
    using testing::Text;
    Data(testing::InsertMessage(
        kOutbox, {Text("a"), Text("order"), Text("k"), Text("caf\xe9")}));
    EXPECT_TRUE(Take().ok());
    return consumer_.said;
  };
  EXPECT_EQ(take(false), Said{"a"});
  EXPECT_EQ(take(true), Said{"undeliverable"});
}

}  // namespace
}  // namespace walpost
