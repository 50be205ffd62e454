#include "sim/simulated_brokers.h"

#include <algorithm>

namespace walpost::sim {

SimulatedCoordinator SimulatedBrokers::NewCoordinator() {
  using Written = SimulatedCoordinator::Written;
  return {world_, [this](const Written& record) {
            checker_.OnWritten(record.relay, record.producer, record.partition,
                               record.event, record.is_late);
            checker_.OnPlace(record.event, record.is_dead_letter,
                             record.is_released);
            checker_.OnCommitted(record.event);
          }};
}

std::shared_ptr<Channel> SimulatedBrokers::Open(int relay, uint64_t producer,
                                                size_t partition) {
  auto channel = std::make_shared<Channel>();
  channel->relay = relay;
  channel->producer = producer;
  channel->partition = partition;
  channels_.push_back(channel);
  return channel;
}

void SimulatedBrokers::WriteOne() {
  if (world_.random.OneIn(8)) coordinator_.Step();
  for (StoredSender& sender : stored_senders_) {
    if (sender.coordinator.HasCommits()) sender.coordinator.Step();
  }
  if (channels_.empty()) return;
  Channel& channel = *channels_[world_.random.Below(channels_.size())];
  if (channel.is_abandoned && !channel.requests.empty() &&
      (!options_.late_arrivals || world_.random.OneIn(20))) {
    channel.requests.clear();  // lost with its connection
  }
  const bool is_down = topic_is_down_ && channel.partition == kFrailPartition;
  if (!channel.requests.empty() && !is_down) Write(channel);
  if (channel.is_abandoned && channel.requests.empty()) Prune();
}

// The brokers reject a batch with one such record as a whole.
bool SimulatedBrokers::RejectBatch(Channel& channel) {
  if (!has_limit_ || channel.is_refused) return false;
  std::deque<Request>& requests = channel.requests;
  const auto end = requests.begin() +
                   static_cast<ptrdiff_t>(world_.random.Between(
                       1, std::min<uint64_t>(kMaxBatch, requests.size())));
  const bool is_rejected =
      std::any_of(requests.begin(), end, [](const Request& request) {
        return IsTooLarge(request.event) && !request.is_dead_letter &&
               !request.is_released;
      });
  if (!is_rejected) return false;
  for (auto request = requests.begin(); request != end; ++request) {
    if (channel.is_abandoned) break;
    channel.answers.emplace_back(*request, Channel::Answer::kTooLarge);
  }
  requests.erase(requests.begin(), end);
  channel.is_refused = true;
  return true;
}

void SimulatedBrokers::Write(Channel& channel) {
  if (channel.takes_singly) return WriteSingly(channel);
  if (RejectBatch(channel)) return;
  const Request request = channel.requests.front();
  channel.requests.pop_front();
  Channel::Answer answer = Channel::Answer::kWritten;
  const SimulatedEvent* event = checker_.server().WithId(request.event);
  const bool is_fenced = channel.coordinator != nullptr &&
                         channel.coordinator->IsFenced(channel.producer);
  if (channel.is_refused || is_fenced) {
    answer = Channel::Answer::kNotWritten;
  } else if (event != nullptr && event->number == refused_) {
    answer = Channel::Answer::kRefused;
    channel.is_refused = true;
  } else if (channel.coordinator != nullptr) {
    channel.coordinator->Write(
        {channel.relay, channel.producer, channel.partition, request.event,
         request.is_dead_letter, channel.is_abandoned, request.is_released});
  } else {
    checker_.OnWritten(channel.relay, channel.producer, channel.partition,
                       request.event, channel.is_abandoned);
    checker_.OnPlace(request.event, request.is_dead_letter,
                     request.is_released);
  }
  if (!channel.is_abandoned) channel.answers.emplace_back(request, answer);
}

void SimulatedBrokers::WriteSingly(Channel& channel) {
  const auto taken =
      channel.requests.begin() +
      static_cast<ptrdiff_t>(world_.random.Below(channel.requests.size()));
  const Request request = *taken;
  channel.requests.erase(taken);
  Channel::Answer answer = Channel::Answer::kWritten;
  const SimulatedEvent* event = checker_.server().WithId(request.event);
  if (has_limit_ && IsTooLarge(request.event) && !request.is_dead_letter) {
    answer = Channel::Answer::kTooLarge;
  } else if (event != nullptr && event->number == refused_) {
    answer = Channel::Answer::kRefused;
  } else if (world_.random.OneIn(60)) {
    world_.Note(channel.relay, "event {} is not taken", request.event);
    answer = Channel::Answer::kNotWritten;
  } else {
    checker_.OnWritten(channel.relay, channel.producer, channel.partition,
                       request.event, channel.is_abandoned);
    checker_.OnPlace(request.event, request.is_dead_letter,
                     request.is_released);
  }
  if (!channel.is_abandoned) channel.answers.emplace_back(request, answer);
}

void SimulatedBrokers::Prune() {
  std::erase_if(channels_, [](const std::shared_ptr<Channel>& channel) {
    return channel->is_abandoned && channel->requests.empty();
  });
}

void SimulatedBrokers::TimeOutTransactions() {
  coordinator_.TimeOut();
  for (StoredSender& sender : stored_senders_) sender.coordinator.TimeOut();
}

bool SimulatedBrokers::IsIdle() const {
  for (const std::shared_ptr<Channel>& channel : channels_) {
    if (!channel->requests.empty()) return false;
  }
  for (const StoredSender& sender : stored_senders_) {
    if (sender.coordinator.HasCommits()) return false;
  }
  return coordinator_.IsIdle();
}

}  // namespace walpost::sim
