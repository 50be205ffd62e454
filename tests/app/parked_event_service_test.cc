// Stored events on their way: into the table, to Kafka, and what happens when a
// call of the table fails.
#include "app/stored/parked_event_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "app/sink/sinks.h"
#include "base/reason_code.h"
#include "loop/blocking_call.h"
#include "parking/parked_codec.h"
#include "support/fake_postgres.h"
#include "support/log_lines.h"
#include "support/memory_sink.h"
#include "support/mock_kafka.h"
#include "support/parking_answers.h"

namespace walpost {
namespace {

using std::chrono::seconds;
using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MockKafka;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

using namespace testing::parking;  // the words of the statements

constexpr char kFail[] = "SET state = 'dead', sending_since";
constexpr char kFailRetry[] = "SET state = 'dead_letter', sending_since";

constexpr Position kAt{Lsn(0x100), 1};
const std::optional<std::string> kNull;

class ParkedEventServiceTest : public ::testing::Test {
 protected:
  ParkedEventServiceTest() {
    kafka_.CreateTopic("t.order", 1);
    config_.postgres.server = server_.options();
    config_.postgres.slot = "orders";
    config_.outbox.tables.resize(1);
    config_.outbox.route.topic = "t.{aggregate_type}";
    config_.kafka.brokers = kafka_.brokers();
    config_.on_error.Set(FindErrorClass(kReasonTopicIllegal),
                         ErrorAction::kPark);
    sender_ = std::make_unique<Sender>(
        RecordBuilder::Create(config_.outbox).value(), config_.window);
    sender_->SetSink(&sink_);
    sender_->SetErrorActions(config_.on_error, [](const DivertedEvent&) {});
    progress_ = std::make_unique<WalProgress>(*sender_);
    server_.Answer("obj_description", {{""}});
    testing::AnswerEmptyParking(server_);
    server_.Answer(kReadBack, {{SortableText(kAt), "", "7", "16421"}});
    server_.Answer(kNote, {{"7", "t"}});
  }
  ~ParkedEventServiceTest() override {
    End();
    AwaitBlockedThreads(seconds(20));  // they close producers
  }

  absl::Status Open() {
    service_.reset();
    knowledge_ = MakeSinkKnowledge(context_.get_executor(), config_);
    service_ = std::make_unique<ParkedEventService>(
        context_.get_executor(), config_, 5, *progress_, *knowledge_,
        ParkedEventService::Callbacks{
            .on_lost = [this](const absl::Status& status) { lost_ = status; },
            .on_progress = [this] { ++progressed_; },
            .may_release = [this] { return may_release_; },
            .is_paused = [this] { return is_paused_; },
            .settled_through =
                [] {
                  return Position{Lsn(0x900), 0};
                }});
    const absl::Status opened = Await(context_, service_->Open("77", {}));
    if (opened.ok()) service_->Begin();
    return opened;
  }
  void End() {
    if (service_ == nullptr) return;
    Await(context_, [this]() -> boost::asio::awaitable<bool> {
      co_await service_->End();
      co_return true;
    }());
  }
  void RunUntil(const std::function<bool()>& is_done) {
    context_.restart();
    const MonotonicTime end = std::chrono::steady_clock::now() + seconds(20);
    while (!is_done() && std::chrono::steady_clock::now() < end) {
      context_.run_one_for(seconds(1));
    }
    EXPECT_TRUE(is_done());
  }
  void RunUntilStatement(const char* words, size_t count = 1) {
    RunUntil([&] { return server_.StatementsWith(words).size() >= count; });
  }

  // `type` "a b" makes no legal topic.
  Sender::Offer OfferEvent(const std::string& type) {
    const std::vector<Value> references = {type};
    Event event;
    event.position = kAt;
    event.aggregate_type = type;
    event.aggregate_id = "k";
    event.payload = "v";
    event.references = references;
    return progress_->OnEvent(event, absl::OkStatus());
  }
  static FakePostgres::Row Row(const std::string& type,
                               const std::string& key = "k") {
    DeadLetter content;
    content.source = "public.outbox";
    content.position = "1:0/100:1";
    content.id = "id";
    content.aggregate_type = type;
    content.aggregate_id = key;
    return {std::string("\0\0\0\0\0\0\0\7", 8),
            "77",
            SortableText(kAt),
            EncodeParked(content),
            "v",
            "record_too_large"};
  }
  // type order, key k.
  void HoldLane() {
    server_.Answer(kLoadLanes, {{"\\x6f72646572", "\\x6b", "t", "t",
                                 SortableText(kAt), "", kNull}});
    server_.Answer(kReadLanes, {{"\\x6f72646572", "\\x6b", "3", "0", "9"}});
  }

  boost::asio::io_context context_;
  MockKafka kafka_;
  FakePostgres server_{context_};
  Config config_;
  testing::MemorySink sink_;
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<WalProgress> progress_;
  std::unique_ptr<SinkKnowledge> knowledge_;
  bool may_release_ = true;
  bool is_paused_ = false;
  int progressed_ = 0;
  std::optional<absl::Status> lost_;
  std::unique_ptr<ParkedEventService> service_;
};

TEST_F(ParkedEventServiceTest, P2AnEventIsConfirmedWhenItIsStored) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(OfferEvent("a b"), Sender::Offer::kAccepted);
  progress_->OnTransactionEnd(Lsn(0x110));
  EXPECT_FALSE(progress_->confirmed().is_valid());
  RunUntil([this] { return progress_->confirmed() == Lsn(0x110); });
  EXPECT_GT(progressed_, 0);
  EXPECT_THAT(server_.parameters(), ElementsAre("v"));
  EXPECT_EQ(service_->report().keys, 1u);
  EXPECT_EQ(lost_, std::nullopt);
}

TEST_F(ParkedEventServiceTest, P2AnEventThatIsNotStoredEndsTheStream) {
  for (const char* words : {kInsert, kReadBack}) {
    ASSERT_TRUE(Open().ok());
    server_.Fail(words, "57014", "canceled");
    EXPECT_EQ(OfferEvent("a b"), Sender::Offer::kAccepted);
    progress_->OnTransactionEnd(Lsn(0x110));
    RunUntil([this] { return lost_.has_value(); });
    EXPECT_FALSE(lost_->ok()) << words;
    EXPECT_FALSE(progress_->confirmed().is_valid()) << words;
    lost_.reset();
    End();
    sender_->StartOver();
    progress_->StartOver();
    server_.Answer(kInsert, {});
  }
}

TEST_F(ParkedEventServiceTest, P3AKeyThatIsParkedStaysSoAfterARestart) {
  HoldLane();
  may_release_ = false;
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(OfferEvent("order"), Sender::Offer::kAccepted);
  EXPECT_THAT(sink_.accepted(), IsEmpty());
  RunUntilStatement(kInsert);
  const ParkingReport report = service_->report();
  EXPECT_EQ(report.keys, 1u);
  EXPECT_EQ(report.events, 3u);
  EXPECT_EQ(report.dead, 0u);
  EXPECT_EQ(report.oldest, seconds(9));
  EXPECT_THAT(server_.StatementsWith(kSendable), IsEmpty());
}

TEST_F(ParkedEventServiceTest, P1AReleasedEventGoesToKafkaAndItsKeyIsFree) {
  HoldLane();
  server_.AnswerInTurn(kSendable, {{Row("order")}, {}});
  server_.AnswerAfter(kDelete, {}, [this] { server_.Answer(kReadLanes, {}); });
  ASSERT_TRUE(Open().ok());
  RunUntilStatement(kDelete);
  EXPECT_THAT(server_.StatementsWith(kDelete)[0], HasSubstr("number IN (7)"));
  EXPECT_THAT(kafka_.Log("t.order"), ElementsAre(Pair("k", "v")));
  RunUntil([this] { return service_->report().keys == 0; });
  EXPECT_EQ(OfferEvent("order"), Sender::Offer::kAccepted);
  EXPECT_THAT(sink_.accepted(), SizeIs(1));
}

TEST_F(ParkedEventServiceTest, P8AReleasedEventThatFailsIsDeadAgain) {
  HoldLane();
  server_.AnswerInTurn(kSendable, {{Row("a b")}, {}});
  ASSERT_TRUE(Open().ok());
  RunUntilStatement(kFail);
  EXPECT_THAT(server_.StatementsWith(kFail)[0],
              HasSubstr("error_class = 'topic_illegal'"));
  EXPECT_THAT(server_.StatementsWith(kFail)[0], HasSubstr("number IN (7)"));
  EXPECT_THAT(server_.StatementsWith(kDelete), IsEmpty());
  EXPECT_EQ(service_->report().keys, 1u);
}

TEST_F(ParkedEventServiceTest, P5WhatCannotBeMarkedAsSentEndsTheStream) {
  HoldLane();
  server_.AnswerInTurn(kSendable, {{Row("order")}, {}});
  server_.Fail(kDelete, "57014", "canceled");
  ASSERT_TRUE(Open().ok());
  RunUntil([this] { return lost_.has_value(); });
  EXPECT_FALSE(lost_->ok());
}

TEST_F(ParkedEventServiceTest, P3EachErrorOfReadingEndsTheStream) {
  for (const char* words : {kReadDead, kSendable, kReadLanes, kReadTopics}) {
    HoldLane();
    may_release_ = true;
    ASSERT_TRUE(Open().ok());
    server_.Fail(words, "57014", "canceled");
    RunUntil([this] { return lost_.has_value(); });
    EXPECT_FALSE(lost_->ok()) << words;
    lost_.reset();
    End();
    server_.Answer(words, {});
    server_.Answer(kReadDead, {{"0/0"}});
  }
}

TEST_F(ParkedEventServiceTest, P1ARetriedLetterGoesToKafka) {
  config_.outbox.dead_letter.store = DeadLetterOptions::Store::kPostgres;
  server_.AnswerInTurn(kRetries, {{Row("order")}, {}});
  server_.Answer(kSettle, {});
  server_.Answer(kNote, {{"7", "t"}});
  ASSERT_TRUE(Open().ok());
  RunUntilStatement(kSettle);
  EXPECT_THAT(server_.StatementsWith(kSettle).back(),
              HasSubstr("number IN (7)"));
  EXPECT_THAT(kafka_.Log("t.order"), ElementsAre(Pair("k", "v")));
}

TEST_F(ParkedEventServiceTest, P8ARetriedLetterThatFailsStaysOne) {
  config_.outbox.dead_letter.store = DeadLetterOptions::Store::kPostgres;
  server_.AnswerInTurn(kRetries, {{Row("a b")}, {}});
  server_.Answer(kNote, {{"7", "t"}});
  ASSERT_TRUE(Open().ok());
  RunUntilStatement(kFailRetry);
  EXPECT_THAT(server_.StatementsWith(kFailRetry)[0],
              HasSubstr("error_class = 'topic_illegal'"));
  EXPECT_THAT(server_.StatementsWith(kFailRetry)[0],
              HasSubstr("number IN (7)"));
}

TEST_F(ParkedEventServiceTest, LettersOfAnEarlierConfigurationAreSentOnce) {
  server_.AnswerInTurn(kRetries, {{Row("order")}, {}});
  server_.Answer(kSettle, {});
  server_.Answer(kNote, {{"7", "t"}});
  ASSERT_TRUE(Open().ok());
  RunUntilStatement(kRetries, 2);
  EXPECT_THAT(server_.StatementsWith(kSettle), Not(IsEmpty()));
  const size_t looks = server_.StatementsWith(kRetries).size();
  context_.run_for(std::chrono::milliseconds(1'500));
  EXPECT_THAT(server_.StatementsWith(kRetries), SizeIs(looks));
}

TEST_F(ParkedEventServiceTest, P3ATopicThatIsBackGetsItsEventsAndIsFree) {
  config_.parking.isolate_after = seconds(60);
  server_.Answer(kLoadTopics, {{"t.order", "t", "t", SortableText(kAt), "",
                                kNull, "t", "t", SortableText(kAt)}});
  server_.Answer(kReadTopics, {{"t.order", "1", "1", "640", "9"}});
  server_.AnswerInTurn(kSendable, {{Row("order")}, {}});
  server_.AnswerAfter(kDelete, {}, [this] { server_.Answer(kReadTopics, {}); });
  ASSERT_TRUE(Open().ok());
  ParkingReport report = service_->report();
  EXPECT_THAT(report.topics, ElementsAre("t.order"));
  EXPECT_EQ(report.isolated_events, 1u);
  EXPECT_EQ(report.isolated_bytes, 640u);
  EXPECT_EQ(report.oldest_isolated, seconds(9));
  RunUntilStatement(kDelete);
  EXPECT_THAT(server_.StatementsWith(kSendable)[0],
              HasSubstr("topic = 't.order'"));
  EXPECT_THAT(kafka_.Log("t.order"), ElementsAre(Pair("k", "v")));
  RunUntil([this] { return service_->report().topics.empty(); });
}

// What is left of it waits behind dead events of its keys.
TEST_F(ParkedEventServiceTest, P3ATopicWithoutFreeEventsIsFree) {
  config_.parking.isolate_after = seconds(60);
  server_.Answer(kLoadTopics, {{"t.order", "t", "t", SortableText(kAt), "",
                                kNull, "t", "t", SortableText(kAt)}});
  server_.Answer(kReadTopics, {{"t.order", "3", "1", "640", "9"}});
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(service_->report().topics, ElementsAre("t.order"));
  server_.Answer(kReadTopics, {{"t.order", "3", "0", "640", "9"}});
  RunUntil([this] { return service_->report().topics.empty(); });
}

TEST_F(ParkedEventServiceTest, P3AnEventOfAnIsolatedTopicThatFailsHoldsItsKey) {
  config_.parking.isolate_after = seconds(60);
  server_.Answer(kLoadTopics, {{"a b", "t", "t", SortableText(kAt), "", kNull,
                                "t", "t", SortableText(kAt)}});
  server_.Answer(kReadTopics, {{"a b", "1", "1", "640", "9"}});
  server_.AnswerInTurn(kSendable, {{Row("a b")}, {}});
  server_.Answer(kReadLanes, {{"\\x612062", "\\x6b", "1", "1", "9"}});
  ASSERT_TRUE(Open().ok());
  RunUntilStatement(kFail);
  EXPECT_EQ(service_->report().keys, 1u);
}

TEST_F(ParkedEventServiceTest, NothingIsAskedIfNothingIsParked) {
  config_.on_error = {};
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(OfferEvent("order"), Sender::Offer::kAccepted);
  EXPECT_THAT(sink_.accepted(), SizeIs(1));
  EXPECT_THAT(server_.StatementsWith(kLoadLanes), IsEmpty());
  server_.Answer(kInUse, {{"t"}});
  ASSERT_TRUE(Open().ok()) << "an earlier configuration has parked some";
  EXPECT_THAT(server_.StatementsWith(kLoadLanes), SizeIs(1));
}

TEST_F(ParkedEventServiceTest, P3AnErrorOfLoadingBeginsNoStream) {
  for (const char* words : {kLoadLanes, kReadLanes, kReadTopics}) {
    server_.Fail(words, "57014", "canceled");
    EXPECT_FALSE(Open().ok()) << words;
    server_.Answer(words, {});
  }
}

// While nothing is offered, the brokers have nothing to take.
TEST_F(ParkedEventServiceTest, P8APauseIsolatesNoTopic) {
  config_.parking.isolate_after = seconds(60);
  ASSERT_TRUE(Open().ok());
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  EXPECT_EQ(OfferEvent("order"), Sender::Offer::kBackpressure);
  const MonotonicTime begin = std::chrono::steady_clock::now();
  const auto watch = [&](int after) {
    const MonotonicTime now = begin + seconds(after);
    service_->Watch(now, now);
    sender_->OnCapacity();
    return OfferEvent("order") == Sender::Offer::kAccepted;
  };
  EXPECT_FALSE(watch(0));
  is_paused_ = true;
  EXPECT_FALSE(watch(61));
  EXPECT_FALSE(watch(600));
  is_paused_ = false;
  EXPECT_FALSE(watch(659)) << "the time begins again with the pause over";
  EXPECT_TRUE(watch(660));
  EXPECT_THAT(service_->report().topics, ElementsAre("t.order"));
}

TEST_F(ParkedEventServiceTest, P8BrokersThatAreAwayIsolateNoTopic) {
  config_.parking.isolate_after = seconds(60);
  ASSERT_TRUE(Open().ok());
  sink_.AnswerWith(absl::UnavailableError("unknown topic"));
  EXPECT_EQ(OfferEvent("order"), Sender::Offer::kBackpressure);
  const MonotonicTime begin = std::chrono::steady_clock::now();
  for (const int after : {0, 40, 80, 120}) {
    service_->Watch(begin, begin + seconds(after));
    sender_->OnCapacity();
    EXPECT_EQ(OfferEvent("order"), Sender::Offer::kBackpressure) << after;
  }
}

TEST_F(ParkedEventServiceTest, NearTheLimitOfKeysIsAWarningOnce) {
  config_.parking.max_keys = 1;
  HoldLane();
  may_release_ = false;
  ASSERT_TRUE(Open().ok());
  const testing::LogLines log;
  const MonotonicTime now = std::chrono::steady_clock::now();
  service_->Watch(now, now);
  service_->Watch(now, now + seconds(1));
  EXPECT_THAT(log.Warnings(),
              ElementsAre(HasSubstr("1 keys are parked, and parking.max_keys "
                                    "is 1")));
}

}  // namespace
}  // namespace walpost
