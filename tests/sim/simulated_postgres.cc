#include "sim/simulated_postgres.h"

#include <algorithm>

#include "sim/relations.h"
#include "support/message_bytes.h"

namespace walpost::sim {
using testing::InsertMessage;
using testing::LogicalMessageMessage;
using testing::Text;

void SimulatedPostgres::Commit() {
  Transaction transaction;
  transaction.first_event = numbers_.size();
  // Commit records often follow directly. All are aligned and of few sizes:
  // after a restore another one may stand at the same place.
  if (world_.random.OneIn(2)) {
    wal_end_ += kAlignment * world_.random.Between(1, 60);
  }
  for (uint64_t n = world_.random.Below(7); n > 0; --n) AddEvent();
  transaction.end_event = numbers_.size();
  transaction.commit_lsn = Lsn(wal_end_);
  wal_end_ += kAlignment * world_.random.Between(3, 6);
  transaction.end_lsn = Lsn(wal_end_);
  transaction.committed_at = WallTimeOf(world_.now);
  transaction.xid = next_xid_++;
  transaction.has_order = options_.has_orders && world_.random.OneIn(3);
  transactions_.push_back(transaction);
  if (world_.random.OneIn(3)) return;  // synchronous_commit = off
  Flush();
}

// Its row may have been written while other transactions were running.
void SimulatedPostgres::AddEvent() {
  Random& random = world_.random;
  const bool is_message = random.OneIn(4);
  if (!is_message && !catalog_.covers()) {
    return withheld_.push_back({Lsn(wal_end_), next_xid_});
  }
  SimulatedEvent event{};
  event.id = all_events_.size();
  event.number = numbers_.size();
  event.key = static_cast<int>(random.Below(kKeys));
  event.number_in_partition = events_in_partition_[PartitionOf(event.key)]++;
  event.number_in_key = events_of_key_[static_cast<size_t>(event.key)]++;
  event.row_lsn = Lsn(wal_end_ - random.Below(900));
  event.is_message = is_message;
  all_events_.push_back(event);
  numbers_.push_back(event.id);
}

void SimulatedPostgres::TakeOut() {
  catalog_.TakeOut(world_.random, next_xid_++);
  WriteToCatalog();
}

void SimulatedPostgres::PutBack() {
  catalog_.PutBack(next_xid_++);
  WriteToCatalog();
}

void SimulatedPostgres::SetRecord(const BirthRecord& record) {
  catalog_.SetRecord(record);
  WriteToCatalog();
}

void SimulatedPostgres::SetPause(const PauseRecord& record) {
  catalog_.SetPause(record);
  WriteToCatalog();
}

void SimulatedPostgres::WriteToCatalog() {
  wal_end_ += kAlignment * 4;
  replicated_ = flushed_ = wal_end_;
}

void SimulatedPostgres::Replicate() {
  replicated_ = world_.random.OneIn(4)
                    ? world_.random.Between(replicated_, flushed_)
                    : flushed_;
}

// The slot's copy does not go ahead of the standby's WAL.
void SimulatedPostgres::SynchroniseSlot() {
  if (confirmed_ <= Lsn(replicated_)) on_standby_ = confirmed_;
}

// A server that recovers writes on behind the last whole record.
uint64_t SimulatedPostgres::EndOfRecords(uint64_t lsn) const {
  const auto lost = std::ranges::find_if(
      transactions_.rbegin(), transactions_.rend(),
      [lsn](const Transaction& one) { return one.commit_lsn < Lsn(lsn); });
  const bool is_cut = lost != transactions_.rend() && lost->end_lsn > Lsn(lsn);
  return is_cut ? lost->commit_lsn.value() : lsn;
}

void SimulatedPostgres::Crash() {
  flushed_ = EndOfRecords(flushed_);
  replicated_ = std::min(replicated_, flushed_);
  LoseWalAfter(flushed_);
  confirmed_ = stored_;
}

void SimulatedPostgres::Promote() {
  replicated_ = EndOfRecords(replicated_);
  on_standby_ = std::min(on_standby_, Lsn(replicated_));
  LoseWalAfter(replicated_);
  forks_.push_back(Lsn(replicated_));
  flushed_ = replicated_;
  confirmed_ = stored_ = on_standby_;
  ++timeline_;
  ++history_;
}

// An old one usually stays: the relay lags behind the WAL, and it does not miss
// what it has not reached. From a young one it may only have boundaries.
void SimulatedPostgres::TakeSnapshot() {
  const bool has_one = snapshot_ && snapshot_->timeline == timeline_;
  if (has_one && !world_.random.OneIn(3)) return;
  snapshot_ = Snapshot{flushed_, replicated_, stored_, timeline_, catalog_};
}

// Real servers reuse transaction ids, too. Not reusing them here does not make
// the task easier, because LSNs and ids would have to coincide.
bool SimulatedPostgres::RestoreSnapshot() {
  if (!snapshot_ || snapshot_->timeline != timeline_) return false;
  LoseWalAfter(snapshot_->flushed);
  flushed_ = snapshot_->flushed;
  catalog_ = snapshot_->catalog;
  replicated_ = std::min(snapshot_->replicated, flushed_);
  confirmed_ = stored_ = snapshot_->stored;
  on_standby_ = std::min(on_standby_, confirmed_);
  ++history_;
  return true;
}

void SimulatedPostgres::LoseWalAfter(uint64_t lsn) {
  while (!transactions_.empty() && transactions_.back().end_lsn > Lsn(lsn)) {
    const Transaction& lost = transactions_.back();
    while (numbers_.size() > lost.first_event) {
      SimulatedEvent& event = all_events_[numbers_.back()];
      event.has_vanished = true;
      --events_in_partition_[PartitionOf(event.key)];
      --events_of_key_[static_cast<size_t>(event.key)];
      numbers_.pop_back();
    }
    transactions_.pop_back();
  }
  std::erase_if(withheld_, [lsn](const Withheld& row) {
    return row.written_at > Lsn(lsn);
  });
  deleted_ = std::min(deleted_, transactions_.size());
  wal_end_ = lsn;
}

void SimulatedPostgres::OnFeedback(Lsn confirmed) {
  if (!confirmed.is_valid()) return;
  if (confirmed < confirmed_ && !options_.slot_may_go_back) return;
  confirmed_ = confirmed;
  if (world_.random.OneIn(3)) StoreSlot();
}

size_t SimulatedPostgres::withheld_count() const {
  return static_cast<size_t>(
      std::ranges::count(withheld_, false, &Withheld::is_given_up));
}

void SimulatedPostgres::GiveUpWithheld() {
  for (Withheld& row : withheld_) row.is_given_up = true;
}

SimulatedPostgres::Deleted SimulatedPostgres::Delete(const Mark& mark,
                                                     uint64_t from_xid) {
  const auto goes = [&](uint32_t xid) {
    return xid >= from_xid && xid < mark.next_xid;
  };
  Deleted deleted;
  for (; deleted_ < transactions_.size(); ++deleted_) {
    const Transaction& transaction = transactions_[deleted_];
    if (transaction.xid >= mark.next_xid) break;
    if (!goes(transaction.xid)) continue;
    for (size_t n = transaction.first_event; n < transaction.end_event; ++n) {
      deleted.ids.push_back(numbers_[n]);
    }
  }
  deleted.withheld = std::erase_if(
      withheld_, [&](const Withheld& row) { return goes(row.xid); });
  return deleted;
}

size_t SimulatedPostgres::FirstFrom(Lsn start) const {
  const auto first = std::ranges::lower_bound(transactions_, start, {},
                                              &Transaction::commit_lsn);
  return static_cast<size_t>(first - transactions_.begin());
}

uint64_t SimulatedPostgres::EventsBefore(Lsn start) const {
  const size_t first = FirstFrom(start);
  return first == transactions_.size() ? numbers_.size()
                                       : transactions_[first].first_event;
}

std::string SimulatedPostgres::MessageOf(const SimulatedEvent& event) const {
  const std::string number = std::to_string(event.id);
  const std::string key = std::to_string(event.key);
  if (event.number == poisoned_) {
    return LogicalMessageMessage(true, event.row_lsn, "outbox", "no JSON");
  }
  const bool is_illegal = has_illegal_topics_ && HasIllegalTopic(event.id);
  const bool is_frail = PartitionOf(event.key) == kFrailPartition;
  const std::string type = is_illegal ? "no topic"
                           : is_frail ? "return"
                                      : "order";
  if (event.is_message) {
    return LogicalMessageMessage(true, event.row_lsn, "outbox",
                                 R"({"id": "id-)" + number +
                                     R"(", "aggregate_type": ")" + type +
                                     R"(", "aggregate_id": ")" + key +
                                     R"(", "payload": ")" + number + R"("})");
  }
  return InsertMessage(
      kOutboxOid, {Text("id-" + number), Text(type), Text(key), Text(number)});
}

}  // namespace walpost::sim
