#include "rabbitmq/records_in_flight.h"

#include <algorithm>

#include "base/check.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

std::string NotStored(const std::string& routing_key) {
  return fmt::format(
      "RabbitMQ does not store messages with routing key \"{}\" (basic.nack): "
      "is a queue full (x-max-length with x-overflow reject-publish), or its "
      "leader down? They are sent again",
      routing_key);
}

}  // namespace

void RecordsInFlight::Add(Sequence sequence, std::string_view topic,
                          KeyOrder::Lane lane, Message message) {
  bytes_ += message.frames.size();
  records_.emplace(
      sequence, Entry{std::move(message), lane, acknowledged_.PlaceOf(topic)});
  if (order_.Add(lane, sequence)) to_send_.push_back(sequence);
}

const Message* RecordsInFlight::NextToSend(MonotonicTime now) {
  while (!to_retry_.empty() && to_retry_.begin()->first <= now) {
    to_send_.push_back(to_retry_.begin()->second);
    to_retry_.erase(to_retry_.begin());
  }
  if (to_send_.empty()) return nullptr;
  const Sequence sequence = to_send_.front();
  to_send_.pop_front();
  const Message& message = records_.at(sequence).message;
  confirms_.Add(sequence, message.identity, now);
  return &message;
}

absl::StatusOr<RecordsInFlight::Reports> RecordsInFlight::OnAck(
    const AckEvent& ack, MonotonicTime now) {
  using Outcome = Confirms::Settled::Outcome;
  WALPOST_ASSIGN_OR_RETURN(const std::vector<Confirms::Settled> all,
                           ack.is_negative
                               ? confirms_.OnNack(ack.tag, ack.is_multiple)
                               : confirms_.OnAck(ack.tag, ack.is_multiple));
  Reports reports;
  for (const Confirms::Settled& settled : all) {
    switch (settled.outcome) {
      case Outcome::kStored:
        OnStored(settled.sequence, reports);
        break;
      case Outcome::kUnroutable:
        OnUnroutable(settled, reports);
        break;
      case Outcome::kRejected: {
        // Other queues of the exchange store the message each time.
        const int rejections = ++records_.at(settled.sequence).rejections;
        to_retry_.emplace(
            now + kRetryPause * (1 << std::min(rejections - 1, 5)),
            settled.sequence);
        break;
      }
    }
  }
  return reports;
}

absl::Status RecordsInFlight::OnReturn(const ReturnEvent& event) {
  return confirms_.OnReturn(
      event.identity,
      fmt::format("no queue gets the message: exchange \"{}\", routing key "
                  "\"{}\" ({} {})",
                  event.exchange, event.routing_key, event.code, event.text));
}

RecordsInFlight::Entry RecordsInFlight::Take(Sequence sequence) {
  const auto found = records_.find(sequence);
  WALPOST_CHECK(found != records_.end());
  Entry entry = std::move(found->second);
  records_.erase(found);
  bytes_ -= entry.message.frames.size();
  return entry;
}

void RecordsInFlight::OnStored(Sequence sequence, Reports& reports) {
  const Entry entry = Take(sequence);
  acknowledged_.Add(entry.topic, 1);
  reports.push_back({sequence, absl::OkStatus()});
  if (const auto next = order_.Next(entry.lane)) to_send_.push_back(*next);
}

void RecordsInFlight::OnUnroutable(const Confirms::Settled& settled,
                                   Reports& reports) {
  const Entry entry = Take(settled.sequence);
  reports.push_back(
      {settled.sequence, Undeliverable(kReasonUnroutable, settled.reason)});
  FailBehind(entry.lane, reports);
}

void RecordsInFlight::FailBehind(KeyOrder::Lane lane, Reports& reports) {
  while (const auto next = order_.Next(lane)) {
    Take(*next);
    reports.push_back(
        {*next,
         absl::AbortedError("an earlier record of its key reached no queue")});
  }
}

std::optional<Sequence> RecordsInFlight::FindBySize(size_t body_bytes) const {
  for (const auto& [sequence, entry] : records_) {
    if (entry.message.body_bytes == body_bytes) return sequence;
  }
  return std::nullopt;
}

RecordsInFlight::Reports RecordsInFlight::TakeOne(Sequence sequence,
                                                  const absl::Status& status) {
  Take(sequence);
  return {{sequence, status}};
}

RecordsInFlight::Reports RecordsInFlight::TakeAll(const absl::Status& status) {
  Reports reports;
  for (const auto& [sequence, entry] : records_) {
    reports.push_back({sequence, status});
  }
  records_.clear();
  order_.Clear();
  confirms_.Clear();
  to_send_.clear();
  to_retry_.clear();
  bytes_ = 0;
  return reports;
}

std::optional<RecordsInFlight::Slow> RecordsInFlight::Slowest() const {
  const auto oldest = confirms_.oldest();
  if (!oldest) return std::nullopt;
  return Slow{records_.at(oldest->sequence).message.routing_key, oldest->since};
}

std::optional<RecordsInFlight::Rejected> RecordsInFlight::MostRejected() const {
  const Entry* most = nullptr;
  for (const auto& [time, sequence] : to_retry_) {
    const Entry& entry = records_.at(sequence);
    if (most == nullptr || entry.rejections > most->rejections) most = &entry;
  }
  if (most == nullptr) return std::nullopt;
  return Rejected{most->message.routing_key, most->rejections};
}

absl::Status RecordsInFlight::Judge(std::chrono::seconds limit, bool is_blocked,
                                    MonotonicTime now) const {
  // A channel that was opened while the leader of a queue was down goes on
  // asking the node that is down (RabbitMQ 3.10).
  const std::optional<Rejected> rejected = MostRejected();
  if (rejected && rejected->times >= kMaxRejections) {
    return absl::UnavailableError(NotStored(rejected->routing_key));
  }
  const std::optional<Slow> slowest = Slowest();
  if (!slowest || is_blocked || now - slowest->since < limit) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(fmt::format(
      "RabbitMQ has not confirmed a message with routing key \"{}\" for {} s: "
      "is its queue without a majority of its members, or the server "
      "overloaded? rabbitmq-queues quorum_status QUEUE shows it",
      slowest->routing_key, limit.count()));
}

std::string RecordsInFlight::Trouble(MonotonicTime now) const {
  if (const std::optional<Rejected> rejected = MostRejected()) {
    return NotStored(rejected->routing_key);
  }
  const std::optional<Slow> slowest = Slowest();
  if (!slowest || now - slowest->since < kSlow) return "";
  return fmt::format(
      "RabbitMQ has not confirmed a message with routing key \"{}\" for {} s: "
      "is its queue without a majority of its members? See rabbitmq-queues "
      "quorum_status QUEUE",
      slowest->routing_key,
      std::chrono::floor<std::chrono::seconds>(now - slowest->since).count());
}

}  // namespace walpost::rabbitmq
