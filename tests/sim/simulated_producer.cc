#include "sim/simulated_producer.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/reason_code.h"
#include "outbox/options.h"

namespace walpost::sim {

SimulatedProducer::SimulatedProducer(World& world, SimulatedBrokers& brokers,
                                     DeliveryChecker& checker, int relay,
                                     uint64_t number, bool one_at_a_time)
    : world_(world),
      brokers_(brokers),
      checker_(checker),
      relay_(relay),
      number_(number),
      is_transactional_(brokers.coordinator().is_used),
      one_at_a_time_(one_at_a_time && !is_transactional_) {
  for (size_t i = 0; i < kPartitions; ++i) {
    partitions_[i].channel = brokers.Open(relay, number, i);
    partitions_[i].channel->takes_singly = brokers.take_singly();
    if (is_transactional_) {
      partitions_[i].channel->coordinator = &brokers.coordinator();
    }
  }
}

SimulatedProducer::~SimulatedProducer() {
  for (Partition& partition : partitions_) {
    partition.channel->is_abandoned = true;
  }
}

absl::Status SimulatedProducer::Produce(const Record& record,
                                        Sequence sequence) {
  if (has_failed_) return absl::AbortedError("fatal");
  if (is_transactional_ && !is_open_) {
    return absl::ResourceExhaustedError("no transaction is open");
  }
  if (one_at_a_time_ && HasRecords()) checker_.OnCompany(relay_);
  if (world_.random.OneIn(40)) return absl::ResourceExhaustedError("full");
  if (world_.random.OneIn(40)) return absl::UnavailableError("unknown topic");
  const std::string key(record.key.value_or("0"));
  const std::string value(record.value.value_or(""));
  const uint64_t event = std::strtoull(value.c_str(), nullptr, 10);
  const size_t partition = PartitionOf(std::atoi(key.c_str()));
  const bool is_dead_letter = record.topic == DeadLetterOptions().topic;
  if (brokers_.topic_is_down() && record.topic == kFrailTopic &&
      world_.random.OneIn(2)) {
    return absl::UnavailableError("the topic is missing");
  }
  const Request request{sequence, event, is_dead_letter};
  // The order of a dead letter is that of its key, too.
  const KeyOrder::Lane lane = KeyOrder::LaneOf("topic", record.key);
  if (brokers_.take_singly()) lanes_[sequence] = lane;
  if (brokers_.take_singly() && !order_.Add(lane, sequence)) {
    world_.Note(relay_, "keeps a record behind another of its key");
    waiting_[sequence] = {partition, request};
  } else {
    partitions_[partition].queue.push_back(request);
  }
  world_.Note(relay_, "hands over event {} for partition {}", event, partition);
  if (is_dead_letter) world_.Note(relay_, "event {} is dead", event);
  checker_.OnHandedOver(relay_, event, is_dead_letter);
  return absl::OkStatus();
}

RecordSink::AfterRejection SimulatedProducer::after_rejection() const {
  if (is_transactional_) return AfterRejection::kGoesOn;
  return one_at_a_time_ ? AfterRejection::kGoesOnAlone : AfterRejection::kFails;
}

// What the transaction has is void, whoever is in it.
void SimulatedProducer::Withdraw() {
  world_.Note(relay_, "withdraws a record");
  if (HasRecords()) checker_.OnCompany(relay_);
  for (Partition& partition : partitions_)
    partition.channel->is_refused = false;
  if (!is_transactional_) return;
  brokers_.coordinator().Abort(number_);
  is_aborting_ = true;
}

void SimulatedProducer::TakeOver() {
  brokers_.coordinator().Init(number_);
  is_open_ = true;
}

void SimulatedProducer::Commit(std::function<void()> on_published, Done done) {
  if (!IsIdle()) checker_.OnEarlyCommit();
  is_open_ = false;
  done_ = std::move(done);
  commit_ = brokers_.coordinator().Send(number_, std::move(on_published));
}

void SimulatedProducer::AwaitCommit(RecordReports& reports) {
  using Outcome = SimulatedCoordinator::Outcome;
  if (is_aborting_ && world_.random.OneIn(2)) {
    is_aborting_ = false;
    is_open_ = true;
    reports.OnCapacity();
  }
  if (commit_ == nullptr) return;
  switch (commit_->outcome) {
    case Outcome::kNone:
      return;
    case Outcome::kCommitted:
      is_open_ = true;
      return EndCommit(absl::OkStatus());
    case Outcome::kFenced:
      world_.Note(relay_, "is fenced");
      return EndCommit(absl::AbortedError("fenced"));
    case Outcome::kLost:
      return EndCommit(absl::UnavailableError("no answer"));
  }
}

void SimulatedProducer::EndCommit(const absl::Status& status) {
  commit_.reset();
  if (const Done done = std::exchange(done_, nullptr)) done(status);
}

void SimulatedProducer::Send() {
  Partition& partition = partitions_[world_.random.Below(kPartitions)];
  if (has_failed_ || partition.queue.empty() ||
      partition.channel->requests.size() >= kMaxOnTheWay) {
    return;
  }
  partition.channel->requests.push_back(partition.queue.front());
  partition.queue.pop_front();
}

void SimulatedProducer::Report(RecordReports& reports) {
  Channel& channel = *partitions_[world_.random.Below(kPartitions)].channel;
  if (!channel.answers.empty()) ReportFrom(channel, reports);
}

void SimulatedProducer::ReportFrom(Channel& channel, RecordReports& reports) {
  const auto [request, answer] = channel.answers.front();
  channel.answers.pop_front();
  switch (answer) {
    case Channel::Answer::kWritten:
      world_.Note(relay_, "event {} is acknowledged", request.event);
      if (!is_transactional_) {
        checker_.OnAcknowledged(relay_, request.event, request.is_dead_letter);
      }
      SendNext(request.sequence);
      return reports.OnAcknowledged(request.sequence, WallTime());
    case Channel::Answer::kRefused:
      world_.Note(relay_, "event {} is refused", request.event);
      Reject(channel, request.sequence);
      return reports.OnNotDelivered(request.sequence,
                                    absl::InvalidArgumentError("refused"));
    case Channel::Answer::kTooLarge:
      world_.Note(relay_, "event {} is too large", request.event);
      Reject(channel, request.sequence);
      return reports.OnNotDelivered(
          request.sequence, Undeliverable(kReasonRecordTooLarge, "too large"));
    case Channel::Answer::kNotWritten:
      has_failed_ = true;
      return reports.OnNotDelivered(request.sequence,
                                    absl::AbortedError("gapless"));
  }
}

void SimulatedProducer::SendNext(Sequence acknowledged) {
  const auto lane = lanes_.find(acknowledged);
  if (lane == lanes_.end()) return;
  const std::optional<Sequence> next = order_.Next(lane->second);
  lanes_.erase(lane);
  if (!next) return;
  const auto waiting = waiting_.find(*next);
  partitions_[waiting->second.partition].queue.push_back(
      waiting->second.request);
  waiting_.erase(waiting);
}

// Until the record is withdrawn, its transaction takes nothing more.
void SimulatedProducer::Reject(Channel& channel, Sequence sequence) {
  if (is_transactional_) {
    is_open_ = false;
  } else if (one_at_a_time_) {
    channel.is_refused = false;
    SendNext(sequence);
  } else {
    has_failed_ = true;
  }
}

bool SimulatedProducer::HasRecords() const {
  return !waiting_.empty() ||
         std::ranges::any_of(partitions_, [](const Partition& partition) {
           const Channel& channel = *partition.channel;
           return !partition.queue.empty() || !channel.requests.empty() ||
                  !channel.answers.empty();
         });
}

void SimulatedProducer::Fail(RecordReports& reports) {
  has_failed_ = true;
  std::deque<Request>& queue =
      partitions_[world_.random.Below(kPartitions)].queue;
  if (queue.empty() || world_.random.OneIn(2)) {
    return reports.OnSinkFailed(absl::AbortedError("fatal"));
  }
  const Sequence last = queue.back().sequence;
  queue.pop_back();
  reports.OnNotDelivered(last, absl::AbortedError("gapless"));
}

// Drains first; the fate of requests on their way is not known.
void SimulatedProducer::Purge(RecordReports& reports) {
  EndCommit(absl::UnavailableError("given up"));
  const absl::Status purged = absl::AbortedError("purged");
  for (Partition& partition : partitions_) {
    Channel& channel = *partition.channel;
    while (!channel.answers.empty()) ReportFrom(channel, reports);
    for (const Request& request : channel.requests) {
      reports.OnNotDelivered(request.sequence, purged);
    }
    for (const Request& request : partition.queue) {
      reports.OnNotDelivered(request.sequence, purged);
    }
    partition.queue.clear();
    channel.is_abandoned = true;
  }
  for (const auto& [sequence, waiting] : waiting_) {
    reports.OnNotDelivered(sequence, purged);
  }
  waiting_.clear();
  order_.Clear();
  has_failed_ = true;
}

bool SimulatedProducer::IsIdle() const {
  if (commit_ != nullptr || !waiting_.empty()) return false;
  for (const Partition& partition : partitions_) {
    const Channel& channel = *partition.channel;
    if (channel.is_abandoned) continue;
    if (!partition.queue.empty() || !channel.requests.empty() ||
        !channel.answers.empty()) {
      return false;
    }
  }
  return true;
}

}  // namespace walpost::sim
