#include "delivery/acknowledgement_window.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace walpost {

AcknowledgementWindow::AcknowledgementWindow(Options options)
    : options_(options),
      ring_(std::bit_ceil(options.max_records)),
      mask_(ring_.size() - 1) {}

// Partitions are served in turns, some later than others: behind the oldest
// record there must be room for several rounds of the rest.
void AcknowledgementWindow::SpreadOver(size_t partitions) {
  constexpr size_t kRounds = 4;
  const size_t records =
      std::min(kMaxSpreadRecords, partitions * options_.records_per_partition);
  if (records <= options_.max_records) return;
  options_.max_records = records;
  is_spread_ = true;
  const size_t size = kRounds * std::bit_ceil(records);
  if (size <= ring_.size()) return;
  std::vector<Entry> larger(size);
  for (Sequence sequence = head_; sequence < next_; ++sequence) {
    larger[sequence & (size - 1)] = At(sequence);
  }
  ring_ = std::move(larger);
  mask_ = size - 1;
}

Sequence AcknowledgementWindow::Add(const InFlightRecord& record) {
  WALPOST_CHECK(next_ - head_ < ring_.size());
  WALPOST_CHECK(record.position > newest_.position);
  At(next_) = {record};
  before_newest_ = std::exchange(newest_, record.identity());
  ++in_flight_records_;
  in_flight_bytes_ += record.size_bytes;
  return next_++;
}

void AcknowledgementWindow::Withdraw(Sequence sequence) {
  WALPOST_CHECK(sequence + 1 == next_ && Find(sequence) != nullptr);
  WALPOST_CHECK(At(sequence).watermark == 0);
  --next_;
  --in_flight_records_;
  in_flight_bytes_ -= At(sequence).record.size_bytes;
  newest_ = before_newest_;
}

void AcknowledgementWindow::AddWatermark(Watermark watermark) {
  if (watermark <= newest_watermark_) return;
  newest_watermark_ = watermark;
  if (head_ == next_) {
    passed_watermark_ = watermark;
  } else {
    At(next_ - 1).watermark = watermark;
  }
}

const InFlightRecord* AcknowledgementWindow::Find(Sequence sequence) const {
  if (sequence < head_ || sequence >= next_) return nullptr;
  const Entry& entry = At(sequence);
  return entry.acknowledged ? nullptr : &entry.record;
}

const InFlightRecord* AcknowledgementWindow::Acknowledge(Sequence sequence) {
  if (Find(sequence) == nullptr) return nullptr;
  Entry& entry = At(sequence);
  entry.acknowledged = true;
  --in_flight_records_;
  in_flight_bytes_ -= entry.record.size_bytes;
  PassAcknowledged();
  return &entry.record;
}

void AcknowledgementWindow::PassAcknowledged() {
  for (; head_ < next_ && At(head_).acknowledged; ++head_) {
    const Entry& entry = At(head_);
    acknowledged_ = entry.record.identity();
    if (entry.watermark == 0) continue;
    WALPOST_CHECK(entry.watermark > passed_watermark_);
    passed_watermark_ = entry.watermark;
  }
}

void AcknowledgementWindow::Resume(Watermark passed,
                                   const EventIdentity& acknowledged) {
  WALPOST_CHECK(empty());
  passed_watermark_ = std::max(passed_watermark_, passed);
  newest_watermark_ = std::max(newest_watermark_, passed_watermark_);
  if (acknowledged.position > acknowledged_.position) {
    acknowledged_ = acknowledged;
  }
  if (acknowledged_.position > newest_.position) newest_ = acknowledged_;
}

std::vector<EventIdentity> AcknowledgementWindow::Clear() {
  std::vector<EventIdentity> out_of_turn;
  for (Sequence sequence = head_; sequence < next_; ++sequence) {
    const Entry& entry = At(sequence);
    if (entry.acknowledged) out_of_turn.push_back(entry.record.identity());
  }
  head_ = next_;
  newest_watermark_ = passed_watermark_;
  newest_ = acknowledged_;
  in_flight_records_ = 0;
  in_flight_bytes_ = 0;
  return out_of_turn;
}

}  // namespace walpost
