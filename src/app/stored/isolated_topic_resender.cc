#include "app/stored/isolated_topic_resender.h"

#include <utility>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "delivery/gap.h"
#include "log/log.h"
#include "parking/ordering_key.h"
#include "parking/parked_codec.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr size_t kMaxDrainedBytes = size_t{4} << 20;
// Until a topic that took nothing is tried again, and one without events is
// looked at again.
constexpr milliseconds kDrainPause{2'000};
constexpr milliseconds kIdlePause{1'000};

}  // namespace

IsolatedTopicResender::IsolatedTopicResender(asio::any_io_executor executor,
                                             const Config& config,
                                             ParkedKeys& parked_keys,
                                             ParkingTable& table,
                                             SinkKnowledge& knowledge,
                                             std::function<void()> wake)
    : executor_(executor),
      config_(config),
      parked_keys_(parked_keys),
      table_(table),
      knowledge_(knowledge),
      wake_(std::move(wake)) {}

asio::awaitable<absl::StatusOr<bool>> IsolatedTopicResender::Turn(
    Position through) {
  for (const std::string& topic : parked_keys_.topics().Names()) drains_[topic];
  const MonotonicTime now = Clock::now();
  for (auto& [topic, drain] : drains_) {
    const bool is_held = parked_keys_.topics().Contains(topic);
    if (drain.run == nullptr) {
      if (!is_held || now < drain.next_at) continue;
      WALPOST_CO_RETURN_IF_ERROR(co_await Begin(topic, through));
      co_return true;
    }
    std::optional<StoredEventSender::Result> result = drain.run->TakeResult();
    if (result) {
      WALPOST_CO_RETURN_IF_ERROR(co_await Settle(topic, *std::move(result)));
      co_return true;
    }
    if (drain.run->is_sending()) continue;
    if (!is_held) {
      co_await drain.run->Close();
      drains_.erase(topic);
      co_return true;
    }
    if (now < drain.next_at) continue;
    WALPOST_CO_RETURN_IF_ERROR(co_await Begin(topic, through));
    co_return true;
  }
  co_return false;
}

asio::awaitable<absl::Status> IsolatedTopicResender::Begin(std::string topic,
                                                           Position through) {
  Drain& drain = drains_[topic];
  if (drain.run == nullptr) {
    StoredEventSender::Options options;
    options.no_topic = StoredEventSender::NoTopic::kWaits;
    options.system_identifier = table_.system_identifier();
    options.topic = topic;
    options.knowledge = &knowledge_;
    WALPOST_CO_ASSIGN_OR_RETURN(
        drain.run, StoredEventSender::Create(executor_, config_,
                                             std::move(options), wake_));
  }
  ParkingSql::Sendable wanted;
  wanted.scope = parked_keys_.scope();
  wanted.through = through;
  wanted.topic = topic;
  wanted.has_others = !parked_keys_.lanes().empty();
  wanted.max_events = drain.run->max_rows();
  wanted.max_bytes = kMaxDrainedBytes;
  WALPOST_CO_ASSIGN_OR_RETURN(std::vector<ParkedRow> rows,
                              co_await table_.ReadSendable(wanted));
  if (rows.empty()) {
    drain.next_at = Clock::now() + kIdlePause;
    is_drained_ |= drain.is_moving;
    co_return absl::OkStatus();
  }
  is_drained_ |= drain.is_moving && rows.size() < wanted.max_events;
  drain.run->Send(std::move(rows));
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> IsolatedTopicResender::Settle(
    std::string topic, StoredEventSender::Result result) {
  Drain& drain = drains_[topic];
  if (result.must_read_again) co_return absl::OkStatus();
  const std::vector<ParkedRow>& rows = drain.run->rows();
  std::vector<ParkedNumber> sent;
  for (const size_t row : result.sent) sent.push_back(rows[row].number);
  if (!sent.empty()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await table_.Release(std::move(sent)));
  }
  if (GapOf(result.trouble)) co_return result.trouble;
  for (const StoredEventSender::Failure& failure : result.failed) {
    const ParkedRow& failed = rows[failure.row];
    const DeadLetter& content = failed.content;
    const std::string reason(failure.reason.message());
    const std::string id = content.id.value_or("");
    LogWarn({{"reason_code", ReasonCodeOf(failure.reason)},
             {"event_id", id},
             {"topic", topic}},
            "event {}, which waited for topic {}, is dead: {}", id, topic,
            reason);
    // Before the row is changed: its key must never be thought free.
    WALPOST_CO_ASSIGN_OR_RETURN(const Position position,
                                ParseSortableText(failed.position));
    parked_keys_.Hold(LaneOf(parked_keys_.scope(), content.aggregate_type,
                             content.aggregate_id.value_or("")),
                      position);
    WALPOST_CO_RETURN_IF_ERROR(co_await table_.Fail(
        failed.number, ReasonCodeOf(failure.reason), reason));
  }
  const bool was_moving = std::exchange(drain.is_moving, result.trouble.ok());
  drain.next_at = Clock::now();
  if (drain.is_moving && !was_moving) {
    LogInfo({{"topic", topic}}, "topic {} takes records again", topic);
  }
  if (!drain.is_moving) drain.next_at += kDrainPause;
  co_return absl::OkStatus();
}

void IsolatedTopicResender::Describe(const std::vector<IsolatedTopic>& topics,
                                     ParkedReading& reading) const {
  for (const IsolatedTopic& topic : topics) {
    reading.isolated_bytes += topic.bytes;
    reading.isolated_for = std::max(reading.isolated_for, topic.age);
    if (topic.free == 0) continue;
    reading.waiting_topics.insert(topic.name);
    const auto found = drains_.find(topic.name);
    if (found == drains_.end() || !found->second.is_moving) continue;
    const StoredEventSender& run = *found->second.run;
    const bool is_last = run.is_sending() && run.rows().size() >= topic.free;
    if (is_last) reading.leaving_topics.insert(topic.name);
  }
}

asio::awaitable<void> IsolatedTopicResender::End() {
  for (auto& [topic, drain] : drains_) {
    if (drain.run != nullptr) drain.run->Stop();
  }
  for (auto& [topic, drain] : drains_) {
    if (drain.run != nullptr) co_await drain.run->End();
  }
  drains_.clear();
}

}  // namespace walpost
