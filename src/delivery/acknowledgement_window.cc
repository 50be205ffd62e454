#include "delivery/acknowledgement_window.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace walpost {
namespace {

CommitIdentity CommitOf(const InFlightRecord& record) {
  return {record.position.commit_lsn, record.xid, record.commit_time};
}

}  // namespace

AcknowledgementWindow::AcknowledgementWindow(Options options)
    : options_(options),
      ring_(std::bit_ceil(options.max_records)),
      mask_(ring_.size() - 1) {}

Sequence AcknowledgementWindow::Add(const InFlightRecord& record) {
  WALPOST_CHECK(next_ - head_ < ring_.size());
  WALPOST_CHECK(record.position > newest_position_);
  At(next_) = {record, Lsn(), false};
  position_before_ = std::exchange(newest_position_, record.position);
  commit_before_ = newest_commit_;
  newest_commit_ = CommitOf(record);
  ++in_flight_records_;
  in_flight_bytes_ += record.size_bytes;
  return next_++;
}

void AcknowledgementWindow::Withdraw(Sequence sequence) {
  WALPOST_CHECK(sequence + 1 == next_ && Find(sequence) != nullptr);
  WALPOST_CHECK(!At(sequence).boundary.is_valid());
  --next_;
  --in_flight_records_;
  in_flight_bytes_ -= At(sequence).record.size_bytes;
  newest_position_ = std::max(position_before_, acknowledged_through_);
  newest_commit_ = commit_before_;
}

void AcknowledgementWindow::AddBoundary(Lsn lsn) {
  if (lsn <= received_) return;
  received_ = lsn;
  if (head_ == next_) {
    confirmed_ = lsn;
  } else {
    At(next_ - 1).boundary = lsn;
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
    acknowledged_through_ = entry.record.position;
    acknowledged_commit_ = CommitOf(entry.record);
    if (entry.boundary.is_valid()) {
      WALPOST_CHECK(entry.boundary > confirmed_);
      confirmed_ = entry.boundary;
    }
  }
}

void AcknowledgementWindow::Resume(Lsn confirmed,
                                   const Position& acknowledged_through,
                                   const CommitIdentity& commit) {
  WALPOST_CHECK(empty());
  if (acknowledged_through > acknowledged_through_) {
    acknowledged_commit_ = commit;
  }
  confirmed_ = std::max(confirmed_, confirmed);
  received_ = std::max(received_, confirmed_);
  acknowledged_through_ = std::max(acknowledged_through_, acknowledged_through);
  if (acknowledged_through_ > newest_position_) {
    newest_commit_ = acknowledged_commit_;
  }
  newest_position_ = std::max(newest_position_, acknowledged_through_);
}

std::vector<AcknowledgedEvent> AcknowledgementWindow::Clear() {
  std::vector<AcknowledgedEvent> out_of_turn;
  for (Sequence sequence = head_; sequence < next_; ++sequence) {
    const Entry& entry = At(sequence);
    if (entry.acknowledged)
      out_of_turn.emplace_back(entry.record.position, entry.record.xid);
  }
  head_ = next_;
  received_ = confirmed_;
  newest_position_ = acknowledged_through_;
  newest_commit_ = acknowledged_commit_;
  in_flight_records_ = 0;
  in_flight_bytes_ = 0;
  return out_of_turn;
}

}  // namespace walpost
