#include "nats/stream_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

using Kind = StreamQuestion::Kind;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MonotonicTime kStart{};
constexpr char kNotFound[] =
    R"({"error":{"code":404,"err_code":10059,"description":"stream not found"}})";

std::string Info(const std::string& name, const std::string& created,
                 const std::string& more = "", int last = 0) {
  return R"({"config":{"name":")" + name + R"(","subjects":["o.>"])" + more +
         R"(},"created":")" + created + R"(","state":{"last_seq":)" +
         std::to_string(last) + "}}";
}

class StreamFinderTest : public ::testing::Test {
 protected:
  // The only question that is due.
  StreamQuestion Asked() {
    const std::vector<StreamQuestion> questions = finder_.TakeQuestions();
    EXPECT_THAT(questions, SizeIs(1));
    return questions.empty() ? StreamQuestion{Kind::kAccount, ""}
                             : questions.front();
  }
  void Answer(const std::string& json) {
    finder_.OnAnswer(Asked(), json, kStart);
  }
  void FindOrders(const std::string& info) {
    EXPECT_TRUE(absl::IsResourceExhausted(finder_.Find("o.a").status()));
    Answer(R"({"streams":["ORDERS"]})");
    Answer(info);
  }

  KnownStreams known_;
  StreamFinder finder_{known_, std::nullopt};
};

TEST_F(StreamFinderTest, AsksForTheStreamOfASubjectOnce) {
  EXPECT_TRUE(absl::IsResourceExhausted(finder_.Find("o.a").status()));
  EXPECT_TRUE(absl::IsResourceExhausted(finder_.Find("o.a").status()));
  const StreamQuestion names = Asked();
  EXPECT_EQ(names.kind, Kind::kNames);
  EXPECT_EQ(names.body, R"({"subject":"o.a"})");
  finder_.OnAnswer(names, R"({"streams":["ORDERS"]})", kStart);
  const StreamQuestion info = Asked();
  EXPECT_EQ(info.kind, Kind::kInfo);
  EXPECT_EQ(info.about, "ORDERS");
  finder_.OnAnswer(info, Info("ORDERS", "t1"), kStart);
  const auto found = finder_.Find("o.a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->name, "ORDERS");
  EXPECT_TRUE(finder_.Find("o.b").ok()) << "its subjects are known";
  EXPECT_THAT(finder_.TakeQuestions(), IsEmpty());
}

TEST_F(StreamFinderTest, AMissingStreamIsAskedForAgain) {
  EXPECT_FALSE(finder_.Find("o.a").ok());
  Answer(R"({"streams":null,"total":0})");
  EXPECT_TRUE(absl::IsUnavailable(finder_.Find("o.a").status()));
  EXPECT_EQ(finder_.missing_subject(), "o.a");
  finder_.OnTick(kStart);
  Answer(R"({"streams":["ORDERS"]})");
  Answer(Info("ORDERS", "t1"));
  EXPECT_TRUE(finder_.Find("o.a").ok());
  EXPECT_EQ(finder_.missing_subject(), "");
}

TEST_F(StreamFinderTest, CreatesAStreamOfItsSubjectsAlone) {
  NatsStreamCreation creation;
  creation.name = "MADE";
  creation.subjects = {"o.>"};
  StreamFinder finder(known_, creation);
  EXPECT_FALSE(finder.Find("o.a").ok());
  EXPECT_FALSE(finder.Find("other").ok());
  for (const StreamQuestion& names : finder.TakeQuestions()) {
    finder.OnAnswer(names, R"({"streams":[]})", kStart);
  }
  const std::vector<StreamQuestion> questions = finder.TakeQuestions();
  ASSERT_THAT(questions, SizeIs(1));
  EXPECT_EQ(questions.front().kind, Kind::kCreate);
  EXPECT_THAT(questions.front().body, HasSubstr(R"("num_replicas":3)"));
  finder.OnAnswer(questions.front(), Info("MADE", "t1"), kStart);
  EXPECT_TRUE(finder.Find("o.a").ok());
  EXPECT_TRUE(absl::IsUnavailable(finder.Find("other").status()));
}

TEST_F(StreamFinderTest, SaysWhyAStreamIsNotCreated) {
  NatsStreamCreation creation;
  creation.name = "MADE";
  creation.subjects = {"o.>"};
  StreamFinder finder(known_, creation);
  EXPECT_FALSE(finder.Find("o.a").ok());
  finder.OnAnswer(finder.TakeQuestions().front(), R"({"streams":[]})", kStart);
  finder.OnAnswer(
      finder.TakeQuestions().front(),
      R"({"error":{"code":500,"err_code":10074,"description":"no peers"}})",
      kStart);
  EXPECT_THAT(finder.Find("o.a").status().message(), HasSubstr("no peers"));
  EXPECT_EQ(finder.refusal(), "no peers");
}

TEST_F(StreamFinderTest, AStreamThatAcknowledgesNothingIsNotUsed) {
  FindOrders(Info("ORDERS", "t1", R"(,"no_ack":true)"));
  EXPECT_TRUE(absl::IsFailedPrecondition(finder_.Find("o.a").status()));
}

TEST_F(StreamFinderTest, WarnsOfAStreamInMemoryOnce) {
  FindOrders(Info("ORDERS", "t1", R"(,"storage":"memory")"));
  EXPECT_THAT(finder_.TakeWarning(), HasSubstr("kept in memory"));
  finder_.OnTick(kStart + seconds(5));
  Answer(Info("ORDERS", "t1", R"(,"storage":"memory")"));
  EXPECT_EQ(finder_.TakeWarning(), "");
}

TEST_F(StreamFinderTest, P9NothingGoesToAStreamThatWasMadeAgain) {
  known_.OnAcknowledged("ORDERS", "t1", 7);
  FindOrders(Info("ORDERS", "t2"));
  EXPECT_TRUE(absl::IsResourceExhausted(finder_.Find("o.a").status()));
  EXPECT_NE(known_.replaced(), "");
}

// The answer of nats-server 2.9 after a restart, an edit, and another restart.
std::string Redated(const std::string& created, int last,
                    const std::string& first) {
  return R"({"config":{"name":"ORDERS","subjects":["o.>"]},"created":")" +
         created + R"(","state":{"messages":3,"first_ts":")" + first +
         R"(","last_seq":)" + std::to_string(last) + "}}";
}

TEST_F(StreamFinderTest, AStreamThatHoldsOlderMessagesIsDatedAnew) {
  known_.OnAcknowledged("ORDERS", "2026-11-29T09:00:30.5Z", 7);
  finder_.Expect();
  Answer(Redated("2026-11-29T09:03:14.12Z", 7, "2026-11-29T09:03:14.1199Z"));
  EXPECT_EQ(known_.replaced(), "");
  EXPECT_TRUE(finder_.Find("o.a").ok());
}

TEST_F(StreamFinderTest, P9WithoutOlderMessagesOrTheLastOneItIsAnother) {
  for (const auto& [last, first] : {std::pair(7, "2026-11-29T09:03:14.1201Z"),
                                    {7, "2026-11-29T09:03:15Z"},
                                    {6, "2026-11-29T09:01:00Z"},
                                    {7, "0001-01-01T00:00:00Z+"},
                                    {7, ""}}) {
    known_.Forget();
    known_.OnAcknowledged("ORDERS", "2026-11-29T09:00:30.5Z", 7);
    StreamFinder finder(known_, std::nullopt);
    finder.Expect();
    finder.OnAnswer(finder.TakeQuestions().front(),
                    Redated("2026-11-29T09:03:14.12Z", last, first), kStart);
    EXPECT_NE(known_.replaced(), "") << last << " " << first;
  }
}

TEST_F(StreamFinderTest, P9NothingGoesAnywhereUntilKnownStreamsAreSeen) {
  known_.OnAcknowledged("ORDERS", "t1", 7);
  finder_.Expect();
  EXPECT_TRUE(finder_.is_comparing());
  EXPECT_TRUE(absl::IsResourceExhausted(finder_.Find("other").status()));
  Answer(Info("ORDERS", "t1", "", 7));
  EXPECT_FALSE(finder_.is_comparing());
  EXPECT_TRUE(finder_.Find("o.a").ok());
}

TEST_F(StreamFinderTest, P9OneKnownStreamThatIsSeenIsNotAll) {
  known_.OnAcknowledged("OTHER", "t1", 7);
  known_.OnAcknowledged("ORDERS", "t1", 7);
  finder_.Expect();
  const std::vector<StreamQuestion> questions = finder_.TakeQuestions();
  ASSERT_THAT(questions, SizeIs(2));
  ASSERT_EQ(questions.front().about, "ORDERS");
  finder_.OnAnswer(questions.front(), Info("ORDERS", "t1", "", 7), kStart);
  EXPECT_TRUE(absl::IsResourceExhausted(finder_.Find("o.a").status()));
  finder_.OnAnswer(questions.back(), kNotFound, kStart);
  EXPECT_TRUE(finder_.Find("o.a").ok());
}

TEST_F(StreamFinderTest, P9AKnownStreamThatCannotBeSeenIsAskedForAgain) {
  known_.OnAcknowledged("ORDERS", "t1", 7);
  finder_.Expect();
  Answer(
      R"({"error":{"code":503,"err_code":10008,"description":"no leader"}})");
  EXPECT_TRUE(finder_.is_comparing());
  EXPECT_THAT(finder_.trouble(), HasSubstr("no leader"));
  EXPECT_EQ(Asked().about, "ORDERS");
}

TEST_F(StreamFinderTest, P9AnotherStreamInThePlaceOfAKnownOne) {
  known_.OnAcknowledged("OLD", "t1", 7);
  finder_.Expect();
  Answer(kNotFound);
  EXPECT_FALSE(finder_.is_comparing());
  FindOrders(Info("ORDERS", "t2"));
  EXPECT_THAT(known_.replaced(), HasSubstr("stream OLD"));
}

TEST_F(StreamFinderTest, AStreamWithoutALeaderIsNotMissing) {
  EXPECT_FALSE(finder_.Find("o.a").ok());
  Answer(R"({"streams":["ORDERS"]})");
  finder_.OnNoAnswer(Asked(), "no answer within 5 s");
  const absl::Status why = finder_.Find("o.a").status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(why)) << "no record is the cause";
  EXPECT_THAT(why.message(), HasSubstr("stream ORDERS does not answer"));
  EXPECT_EQ(finder_.missing_subject(), "");
  EXPECT_NE(finder_.trouble(), "");
}

TEST_F(StreamFinderTest, AsksRegularlyWhetherJetStreamAnswers) {
  finder_.OnTick(kStart + seconds(10));
  EXPECT_EQ(Asked().kind, Kind::kAccount);
  finder_.OnTick(kStart + seconds(11));
  EXPECT_THAT(finder_.TakeQuestions(), IsEmpty());
  FindOrders(Info("ORDERS", "t1"));
  finder_.OnTick(kStart + seconds(13));
  EXPECT_EQ(Asked().about, "ORDERS");
}

}  // namespace
}  // namespace walpost
