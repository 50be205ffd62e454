// Polled rows and their brokers, over long times.
#include "health/broker_contact.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime kBegin{hours(1000)};

class BrokerContactTest : public ::testing::Test {
 protected:
  // After this time, with as many brokers up, the last of them heard then.
  bool Look(milliseconds after, uint64_t acknowledged, bool waits,
            size_t up = 1, milliseconds heard_after = milliseconds(0)) {
    SinkHealth sink;
    sink.brokers_up = up;
    sink.heard_at = kBegin + heard_after;
    return brokers_.Look(acknowledged, waits, sink, kBegin + after);
  }
  seconds Unacknowledged(milliseconds after) const {
    return std::chrono::duration_cast<seconds>(kBegin + after -
                                               brokers_.acknowledged_at());
  }

  BrokerContact brokers_{kBegin};
};

TEST_F(BrokerContactTest, P10AnIdleTableWaitsForNobody) {
  Look(seconds(0), 0, /*waits=*/false);
  Look(hours(5), 0, /*waits=*/false);
  Look(hours(5) + seconds(1), 0, /*waits=*/true);
  EXPECT_EQ(Unacknowledged(hours(5) + seconds(4)), seconds(4));
  Look(hours(5) + seconds(9), 0, /*waits=*/true);
  EXPECT_EQ(Unacknowledged(hours(5) + seconds(9)), seconds(9));
  Look(hours(5) + seconds(10), 0, /*waits=*/false);
  EXPECT_EQ(Unacknowledged(hours(5) + seconds(10)), seconds(0));
}

TEST_F(BrokerContactTest, P10AnAcknowledgementEndsTheWaitOfTheOthers) {
  EXPECT_FALSE(Look(seconds(0), 0, /*waits=*/true));
  EXPECT_TRUE(Look(seconds(30), 1, /*waits=*/true));
  EXPECT_FALSE(Look(seconds(31), 1, /*waits=*/true)) << "the same record";
  EXPECT_EQ(Unacknowledged(seconds(31)), seconds(1));
}

TEST_F(BrokerContactTest, ABrokerIsHeardByWhatItSendsAndByAnAcknowledgement) {
  EXPECT_EQ(brokers_.heard_at(), kBegin);
  Look(seconds(60), 0, false, 1, seconds(40));
  EXPECT_EQ(brokers_.heard_at(), kBegin + seconds(40));
  Look(seconds(61), 0, false, 1, seconds(20));  // another sink
  EXPECT_EQ(brokers_.heard_at(), kBegin + seconds(40));
  Look(seconds(62), 1, false, 1, seconds(20));
  EXPECT_EQ(brokers_.heard_at(), kBegin + seconds(62));
}

TEST_F(BrokerContactTest, TheyWereReachedOnceTheyAreConnected) {
  Look(seconds(0), 0, true, 0);
  EXPECT_FALSE(brokers_.were_reached());
  Look(seconds(1), 0, true, 1);
  EXPECT_TRUE(brokers_.were_reached());
  Look(seconds(2), 0, true, 0);
  EXPECT_TRUE(brokers_.were_reached());
}

TEST_F(BrokerContactTest, AnAcknowledgementIsAConnectionToo) {
  Look(seconds(0), 1, true, 0);
  EXPECT_TRUE(brokers_.were_reached());
}

TEST_F(BrokerContactTest, P8AfterAnOutageTopicsMayStillCome) {
  Look(seconds(0), 0, true, 1);
  EXPECT_TRUE(brokers_.know_topics(kBegin));
  Look(BrokerContact::kOutage, 0, true, 0);
  EXPECT_TRUE(brokers_.know_topics(kBegin + BrokerContact::kOutage))
      << "a sink reports once a second";
  Look(seconds(10), 0, true, 0);
  EXPECT_FALSE(brokers_.know_topics(kBegin + seconds(10)));
  Look(seconds(12), 0, true, 1);
  EXPECT_FALSE(brokers_.know_topics(kBegin + milliseconds(14'999)));
  EXPECT_TRUE(brokers_.know_topics(kBegin + seconds(15)));
  Look(seconds(20), 0, true, 1);
  EXPECT_TRUE(brokers_.know_topics(kBegin + seconds(20)));
}

}  // namespace
}  // namespace walpost
