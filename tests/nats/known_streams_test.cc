#include "nats/known_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr MonotonicTime kStart{};

TEST(KnownStreamsTest, GoesThroughACheckpoint) {
  KnownStreams known;
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.OnAcknowledged("a,b=c%", "t2", 5);
  KnownStreams later;
  later.Reset(known.text());
  EXPECT_EQ(later.text(), known.text());
  EXPECT_TRUE(later.Observe("a,b=c%", "t2"));
  EXPECT_FALSE(later.Observe("ORDERS", "t9"));
}

TEST(KnownStreamsTest, SkipsPartsThatDoNotParse) {
  KnownStreams known;
  known.Reset("=t,ORDERS,A=,B=t1,");
  EXPECT_EQ(known.text(), "B=t1");
}

TEST(KnownStreamsTest, P9ACheckpointWithoutStreamsMakesNothingUnknown) {
  KnownStreams known;
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.Reset("");
  EXPECT_FALSE(known.Observe("ORDERS", "t2"));
}

TEST(KnownStreamsTest, ACheckpointKnowsNoSequences) {
  KnownStreams known;
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.OnAcknowledged("OTHER", "t1", 5);
  known.Reset("ORDERS=t1,OTHER=t2");
  EXPECT_EQ(known.AcknowledgedUpTo("ORDERS"), 5u) << "it is the same";
  EXPECT_EQ(known.AcknowledgedUpTo("OTHER"), 0u);
}

TEST(KnownStreamsTest, AStreamThatWasMadeAgainIsReplaced) {
  KnownStreams known;
  known.OnAcknowledged("ORDERS", "t1", 5);
  EXPECT_TRUE(known.Observe("ORDERS", "t1"));
  EXPECT_TRUE(known.Observe("OTHER", "t7")) << "it has no events";
  EXPECT_EQ(known.replaced(), "");
  EXPECT_FALSE(known.Observe("ORDERS", "t2"));
  EXPECT_THAT(known.replaced(), HasSubstr("deleted and created again"));
  EXPECT_THAT(known.replaced(), HasSubstr("walpost recover"));
  known.Forget();
  EXPECT_EQ(known.replaced(), "");
  EXPECT_TRUE(known.Observe("ORDERS", "t2"));
}

TEST(KnownStreamsTest, AStreamThatIsDatedAnewIsTheSame) {
  KnownStreams known;
  known.Redate("ORDERS", "t2");
  EXPECT_EQ(known.text(), "");
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.Redate("ORDERS", "t2");
  EXPECT_TRUE(known.Observe("ORDERS", "t2"));
  EXPECT_EQ(known.text(), "ORDERS=t2");
  EXPECT_EQ(known.AcknowledgedUpTo("ORDERS"), 5u);
}

TEST(KnownStreamsTest, P9WhetherItIsTheSameIsNotKnownFromACheckpoint) {
  KnownStreams known;
  known.Reset("ORDERS=t1");
  known.Redate("ORDERS", "t2");
  EXPECT_FALSE(known.Observe("ORDERS", "t2"));
}

TEST(KnownStreamsTest, AStreamThatStaysBehindWasRestored) {
  KnownStreams known;
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.ObserveEnd("ORDERS", 3, 5, kStart);
  known.ObserveEnd("ORDERS", 3, 5, kStart + seconds(9));
  EXPECT_EQ(known.replaced(), "") << "a new leader reads its log first";
  known.ObserveEnd("ORDERS", 3, 5, kStart + seconds(10));
  EXPECT_THAT(known.replaced(), HasSubstr("ends at sequence 3"));
}

TEST(KnownStreamsTest, AStreamThatCatchesUpWasNot) {
  KnownStreams known;
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.ObserveEnd("ORDERS", 3, 5, kStart);
  known.ObserveEnd("ORDERS", 5, 5, kStart + seconds(5));
  known.ObserveEnd("ORDERS", 3, 5, kStart + seconds(11));
  EXPECT_EQ(known.replaced(), "");
}

TEST(KnownStreamsTest, AMessageAtAnAcknowledgedSequenceIsOfAnotherStream) {
  KnownStreams known;
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.ObserveStored("ORDERS", 6, 5);
  known.ObserveStored("OTHER", 1, 5);
  EXPECT_EQ(known.replaced(), "") << "OTHER had no events";
  known.ObserveStored("ORDERS", 5, 5);
  EXPECT_THAT(known.replaced(), HasSubstr("stored a message at sequence 5"));
}

TEST(KnownStreamsTest, AnotherStreamInThePlaceOfAKnownOne) {
  KnownStreams known;
  known.ObserveMissing("ORDERS", "NEW");
  EXPECT_EQ(known.replaced(), "") << "it had no events";
  known.OnAcknowledged("ORDERS", "t1", 5);
  known.ObserveMissing("ORDERS", "NEW");
  EXPECT_THAT(known.replaced(), HasSubstr("stream NEW takes its place"));
}

TEST(KnownStreamsTest, AddTakesOverWhatAnotherKnows) {
  KnownStreams known;
  known.OnAcknowledged("A", "t1", 5);
  KnownStreams other;
  other.OnAcknowledged("A", "t1", 9);
  other.OnAcknowledged("B", "t2", 1);
  known.Add(other);
  EXPECT_EQ(known.AcknowledgedUpTo("A"), 9u);
  EXPECT_EQ(known.text(), "A=t1,B=t2");
  other.Observe("B", "t3");
  known.Add(other);
  EXPECT_EQ(known.replaced(), other.replaced());
}

TEST(KnownStreamsTest, ASequenceIsNotTakenBack) {
  KnownStreams known;
  known.OnAcknowledged("A", "t1", 5);
  known.OnAcknowledged("A", "t1", 4);
  EXPECT_EQ(known.AcknowledgedUpTo("A"), 5u);
}

TEST(KnownStreamsTest, StaysSmall) {
  KnownStreams known;
  for (size_t i = 0; i < 2 * KnownStreams::kMax; ++i) {
    known.OnAcknowledged("S" + std::to_string(i), "t", 1);
  }
  EXPECT_EQ(known.names().size(), KnownStreams::kMax);
}

}  // namespace
}  // namespace walpost
