// Relay: checks that Kafka is the one that has the events; holds gaps.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "app/relay.h"
#include "base/reason_code.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// Limit for the first answer of the brokers, before a session.
constexpr milliseconds kClusterLimit{2000};
constexpr milliseconds kClusterPoll{20};

}  // namespace

// The brokers report their cluster id with the first answer. If they are away,
// the stream begins all the same: nothing is produced to an unknown cluster.
asio::awaitable<void> Relay::WaitForCluster() {
  const MonotonicTime until = Clock::now() + kClusterLimit;
  while (producer_->cluster_id().empty() && Clock::now() < until &&
         !shutdown_deadline_) {
    retry_timer_.expires_after(kClusterPoll);
    co_await retry_timer_.async_wait(kAsTuple);
  }
  source_.SetKafkaCluster(producer_->cluster_id());
}

// Sets the Kafka cluster and the topics that have the events so far. The writer
// of the last checkpoint knows them best.
void Relay::ExpectKafka() {
  producer_->ExpectCluster(source_.memory().kafka_cluster());
  if (checkpoints_.loaded()) {
    kafka_memory_.topics.Reset(checkpoints_.loaded()->kafka_topics);
  }
  producer_->ExpectTopics();
}

// Checks once the brokers are reached, if they were not before the stream.
void Relay::CheckKafka() {
  if (!source_.is_open() || producer_ == nullptr || found_gap_) return;
  const std::string& cluster = producer_->cluster_id();
  if (const auto other =
          DescribeOtherKafka(source_.memory().kafka_cluster(), cluster)) {
    FindGap({kGapKafkaReplaced, *other});
  } else if (!kafka_memory_.topics.replaced().empty()) {
    FindGap({kGapKafkaReplaced, kafka_memory_.topics.replaced()});
  } else if (!cluster.empty()) {
    checkpoints_.NoteKafka(cluster, kafka_memory_.topics.text());
  }
}

void Relay::FindGap(const Gap& gap) {
  found_gap_ = gap;
  source_.Abandon();
}

// From now on nothing is streamed until an operator acts; after a restart, too,
// if the gap can be stored.
asio::awaitable<void> Relay::HoldGap(absl::Status status) {
  const std::optional<Gap> gap = GapOf(status);
  if (!gap) co_return;
  gap_is_new_ = !source_.memory().gap();
  source_.Latch(*gap);
  co_await checkpoints_.Keep(*source_.memory().gap(), DescribeSession());
}

}  // namespace walpost
