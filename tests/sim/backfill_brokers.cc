#include "sim/backfill_brokers.h"

#include <algorithm>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost::sim {
namespace {

constexpr size_t kMaxBatch = 3;

ErrorAction ActionFor(const ErrorActions& actions, const TableRow& row) {
  return actions.Get(FindErrorClass(
      row.has_illegal_topic ? kReasonTopicIllegal : kReasonRecordTooLarge));
}

}  // namespace

BackfillBrokers::BackfillBrokers(World& world, const SimulatedTable& table,
                                 bool has_transactions, ErrorActions on_error)
    : world_(world),
      table_(table),
      on_error_(on_error),
      coordinator_(world, [this](const SimulatedCoordinator::Written& record) {
        OnWritten(slots_.at(record.producer),
                  sent_.at({record.producer, record.event}));
      }) {
  coordinator_.is_used = has_transactions;
}

void BackfillBrokers::Find(const char* promise, const char* text,
                           uint64_t row) {
  if (finding_) return;
  finding_ = Finding{promise, fmt::format(fmt::runtime(text), row)};
}

std::shared_ptr<RowProducer> BackfillBrokers::Open(
    const SimulatedTable::Slot& slot) {
  auto producer = std::make_shared<RowProducer>();
  producer->number = ++numbers_;
  producer->slot = slot;
  slots_[producer->number] = slot;
  producers_.push_back(producer);
  return producer;
}

void BackfillBrokers::Step() {
  if (coordinator_.HasCommits() && world_.random.OneIn(2)) coordinator_.Step();
  if (world_.random.OneIn(2'000)) coordinator_.TimeOut();
  if (producers_.empty()) return;
  const size_t number = world_.random.Below(producers_.size());
  RowProducer& producer = *producers_[number];
  Write(producer, world_.random.Below(RowProducer::kPartitions));
  const bool is_idle = std::ranges::all_of(
      producer.requests, [](const auto& queue) { return queue.empty(); });
  if (!producer.is_abandoned || !is_idle) return;
  producers_.erase(producers_.begin() + static_cast<ptrdiff_t>(number));
}

// A batch with a record that is too large is rejected as a whole, and nothing
// behind it is written.
void BackfillBrokers::Write(RowProducer& producer, size_t partition) {
  using Answer = RowProducer::Answer;
  std::deque<RowProducer::Request>& queue = producer.requests[partition];
  if (queue.empty()) return;
  if (producer.is_abandoned && world_.random.OneIn(8)) return queue.clear();
  const size_t size =
      std::min<size_t>(queue.size(), world_.random.Between(1, kMaxBatch));
  const auto end = queue.begin() + static_cast<ptrdiff_t>(size);
  const bool is_rejected =
      std::any_of(queue.begin(), end, [](const RowProducer::Request& request) {
        return request.row.is_too_large && !request.is_letter;
      });
  bool& is_refused = producer.is_refused[partition];
  const bool is_fenced =
      coordinator_.is_used && coordinator_.IsFenced(producer.number);
  for (auto request = queue.begin(); request != end; ++request) {
    Answer answer = is_rejected ? Answer::kTooLarge : Answer::kWritten;
    if (is_refused || is_fenced) {
      answer = Answer::kNotWritten;
    } else if (!is_rejected && coordinator_.is_used) {
      sent_[{producer.number, request->row.id}] = *request;
      coordinator_.Write({kNobody, producer.number, partition, request->row.id,
                          request->is_letter, producer.is_abandoned, false});
    } else if (!is_rejected) {
      OnWritten(producer.slot, *request);
    }
    if (!producer.is_abandoned) producer.answers.emplace_back(*request, answer);
  }
  is_refused |= is_rejected;
  queue.erase(queue.begin(), end);
}

void BackfillBrokers::OnWritten(const SimulatedTable::Slot& slot,
                                const RowProducer::Request& request) {
  const TableRow& row = request.row;
  world_.Note(kNobody, "row {} is in Kafka", row.id);
  if (request.is_letter && row.is_deliverable()) {
    Find("P8", "row {} is set aside, and nothing is wrong with it", row.id);
  }
  if (request.is_letter) letters_.insert(row.id);
  const uint64_t times = ++written_[{slot.number, row.id}];
  const bool is_streamed = row.stamp > slot.begins_at;
  if (coordinator_.is_used && times > 1) {
    Find("P5", "row {} is committed twice", row.id);
  }
  if (coordinator_.is_used && is_streamed) {
    Find("P5", "row {} comes with the stream, too", row.id);
  }
  // Whoever corrects a row that was set aside gives up its turn.
  const bool was_set_aside = request.is_letter || skipped_.contains(row.id);
  if (times > 1 || is_streamed || was_set_aside) return;
  int& last =
      places_.try_emplace({slot.number, row.table, row.key}, 0).first->second;
  if (row.place() < last) Find("P3", "row {} comes too late", row.id);
  last = std::max(last, row.place());
}

void BackfillBrokers::OnProduced(bool may_send) {
  if (!may_send) Find("paused", "a row is sent", 0);
}

bool BackfillBrokers::IsPublished(const TableRow& row) const {
  if (written_.contains({table_.slot().number, row.id})) return true;
  return letters_.contains(row.id) || skipped_.contains(row.id);
}

void BackfillBrokers::OnRecord() {
  for (const auto& [id, row] : table_.rows()) {
    if (row.stamp > table_.slot().begins_at || IsPublished(row)) continue;
    const bool stops = !row.is_deliverable() &&
                       ActionFor(on_error_, row) == ErrorAction::kStop;
    if (stops) return Find("P8", "row {} is passed", id);
    return Find("P1", "row {} is lost", id);
  }
}

}  // namespace walpost::sim
