#include "sim/simulated_stored_sender.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/check.h"

namespace walpost::sim {
namespace {

// All that any process may have parked.
OutboxOptions Outbox() {
  OutboxOptions options;
  options.tables.resize(2);
  options.tables.back().name = "public.orders";
  options.messages.prefix = "outbox";
  options.route.topic = "outbox.event.{aggregate_type|lower}";
  return options;
}

}  // namespace

SimulatedStoredSender::Run::Run(SimulatedStoredSender& owner,
                                const OutboxOptions& options,
                                StoredBatch::Options of_batch)
    : sink(owner),
      outbox(options),
      sender(RecordBuilder::Create(outbox).value(),
             {.max_records = owner.world_.random.Between(1, 5)}),
      batch(outbox, sender, of_batch) {}

SimulatedStoredSender::SimulatedStoredSender(World& world,
                                             SimulatedBrokers& brokers,
                                             int relay, size_t name)
    : world_(world), brokers_(brokers), relay_(relay), name_(name) {}

absl::Status SimulatedStoredSender::Sink::Produce(const Record& record,
                                                  Sequence sequence) {
  World& world = owner_.world_;
  if (world.random.OneIn(40)) return absl::ResourceExhaustedError("full");
  const bool is_down =
      owner_.brokers_.topic_is_down() && record.topic == kFrailTopic;
  if (is_down && world.random.OneIn(2)) {
    return absl::UnavailableError("the topic is missing");
  }
  const std::string key(record.key.value_or("0"));
  const std::string value(record.value.value_or(""));
  const uint64_t event = std::strtoull(value.c_str(), nullptr, 10);
  const bool is_released = owner_.name_ < SimulatedBrokers::kToTopics;
  world.Note(owner_.relay_, "sends parked event {}", event);
  owner_.channels_[PartitionOf(std::atoi(key.c_str()))]->requests.push_back(
      {sequence, event, false, is_released});
  return absl::OkStatus();
}

// An operator has changed most of the rows, or the routes, before.
void SimulatedStoredSender::Send(SimulatedParkedTable::Rows rows) {
  rows_ = std::move(rows);
  if (rows_.empty()) return;
  if (run_ == nullptr) {
    run_ = std::make_unique<Run>(
        *this, Outbox(),
        StoredBatch::Options{.topics_fail = name_ < SimulatedBrokers::kToTopics,
                             .keeps_order = name_ != SimulatedBrokers::kRetried,
                             .has_ledger = has_transactions()});
  }
  std::vector<ParkedRow> parked;
  for (const auto& [position, row] : rows_) {
    DeadLetter content = row.content;
    const bool is_fixed = !world_.random.OneIn(6);
    if (is_fixed) absl::StrReplaceAll({{" ", "-"}}, &*content.aggregate_type);
    parked.push_back({row.number, "", "", std::move(content)});
  }
  run_->batch.Begin(std::move(parked), world_.now);
  if (!OpenProducer()) rows_.clear();
}

// False: the rows are too old, for a predecessor may have sent them since.
bool SimulatedStoredSender::OpenProducer() {
  if (run_->producer != 0) return true;
  run_->producer = brokers_.NextProducer();
  SimulatedBrokers::StoredSender& place = brokers_.stored_sender(name_);
  for (size_t i = 0; i < kPartitions; ++i) {
    channels_[i] = brokers_.Open(relay_, run_->producer, i);
    if (has_transactions()) channels_[i]->coordinator = &place.coordinator;
  }
  run_->sender.SetSink(&run_->sink);
  if (!has_transactions()) return true;
  place.coordinator.Init(run_->producer);
  WALPOST_CHECK(run_->batch.LoadLedger(place.ledger).ok());
  return false;
}

void SimulatedStoredSender::Step() {
  if (rows_.empty() || result_) return;
  if (commit_ != nullptr) return AwaitCommit();
  if (world_.random.OneIn(300)) {
    run_->sender.OnSinkFailed(absl::AbortedError("fatal"));
  }
  while (world_.random.OneIn(2)) Report();
  Advance();
}

void SimulatedStoredSender::Report() {
  Channel& channel = *channels_[world_.random.Below(kPartitions)];
  if (channel.answers.empty()) return;
  const auto [request, answer] = channel.answers.front();
  channel.answers.pop_front();
  switch (answer) {
    case Channel::Answer::kWritten:
      return run_->sender.OnAcknowledged(request.sequence, WallTime());
    case Channel::Answer::kRefused:
    case Channel::Answer::kTooLarge:
      return run_->sender.OnNotDelivered(
          request.sequence, absl::InvalidArgumentError("too large"));
    case Channel::Answer::kNotWritten:
      return run_->sender.OnNotDelivered(request.sequence,
                                         absl::AbortedError("gapless"));
  }
}

void SimulatedStoredSender::Advance() {
  const bool brokers_answer = !world_.random.OneIn(20);
  SimulatedBrokers::StoredSender& place = brokers_.stored_sender(name_);
  switch (run_->batch.Next(world_.now, brokers_answer)) {
    case StoredBatch::Do::kWait:
      return;
    case StoredBatch::Do::kCommit:
      commit_ = place.coordinator.Send(
          run_->producer,
          [&place, ledger = run_->batch.ledger()] { place.ledger = ledger; });
      return;
    case StoredBatch::Do::kEnd:
      result_ = run_->batch.TakeResult(world_.now, brokers_answer);
      if (run_->batch.must_replace_sink()) {
        CloseProducer();
        run_->batch.StartOver();
      }
  }
}

void SimulatedStoredSender::AwaitCommit() {
  using Outcome = SimulatedCoordinator::Outcome;
  if (commit_->outcome == Outcome::kNone) return;
  absl::Status status;
  if (commit_->outcome == Outcome::kFenced) {
    status = absl::AbortedError("fenced");
  } else if (commit_->outcome == Outcome::kLost) {
    status = absl::UnavailableError("no answer");
  }
  commit_.reset();
  run_->batch.OnCommitted(status);
}

void SimulatedStoredSender::CloseProducer() {
  run_->producer = 0;
  for (auto& channel : channels_) {
    if (channel != nullptr) channel->is_abandoned = true;
    channel.reset();
  }
}

std::optional<SimulatedStoredSender::Result>
SimulatedStoredSender::TakeResult() {
  return std::exchange(result_, std::nullopt);
}

void SimulatedStoredSender::Abandon() {
  if (run_ != nullptr) CloseProducer();
  run_.reset();
  commit_.reset();
  result_.reset();
  rows_.clear();
}

}  // namespace walpost::sim
