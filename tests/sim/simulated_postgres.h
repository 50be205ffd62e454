// SimulatedPostgres: a primary, its WAL, one logical slot, and the progress of
// a standby. The checker compares everything with the committed transactions.
//
//   WAL   ──────────────┬──────────┬───────────┬──▶
//                 replicated   flushed    end of the WAL
//
// A crash loses WAL that is not flushed, a promotion WAL that is not
// replicated, and a restored snapshot of the volume all later WAL: timeline and
// slot are the same, and other transactions take the LSNs. The walsender sends
// at most what is flushed or, with synchronized_standby_slots, replicated.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/lsn.h"
#include "base/time.h"
#include "sim/simulated_catalog.h"
#include "sim/simulated_slot.h"
#include "sim/world.h"

namespace walpost::sim {

inline constexpr int kKeys = 7;
inline constexpr size_t kPartitions = 3;

// Events of one partition go to a topic of their own, which can be down.
inline constexpr size_t kFrailPartition = 0;
inline constexpr const char* kTopics[] = {"outbox.event.return",
                                          "outbox.event.order"};
inline constexpr const char* kFrailTopic = kTopics[0];

// The partition of a key's records.
constexpr size_t PartitionOf(int key) {
  return static_cast<size_t>(key) % kPartitions;
}

// An outbox row, or a logical message. `id` is never reused; the other numbers
// follow the commit order, and are reused when a commit was lost.
struct SimulatedEvent {
  uint64_t id;
  uint64_t number;
  uint64_t number_in_partition;
  uint64_t number_in_key;
  int key;
  Lsn row_lsn;  // in a different order than commits
  bool is_message;
  bool has_vanished;  // its commit was lost with its server
};

class SimulatedPostgres final : public SimulatedSlot {
 public:
  struct Options {
    // synchronized_standby_slots: decodes nothing that could be lost.
    bool awaits_standby = true;
    // Minor releases from before August 2025 obey.
    bool slot_may_go_back = false;
    // Some transactions have a row of the table `orders`, which only some
    // configurations have.
    bool has_orders = false;
  };

  struct Transaction {
    Lsn commit_lsn;
    Lsn end_lsn;
    WallTime committed_at;
    uint32_t xid;        // never reused
    size_t first_event;  // numbers
    size_t end_event;
    bool has_order = false;
  };

  static constexpr Lsn kWalBegin{1'000};

  SimulatedPostgres(World& world, const Options& options)
      : world_(world), options_(options) {}

  // ---- Events at any time.

  // A transaction of 0 to 6 events, including rows of another table.
  void Commit();
  // The WAL grows without a commit.
  void WriteElsewhere() {
    wal_end_ += kAlignment * world_.random.Between(1, 60);
  }
  void Flush() { flushed_ = wal_end_; }
  void Replicate();
  void StoreSlot() { stored_ = confirmed_; }
  void SynchroniseSlot();

  // ---- Operators' changes of the publication. Flushed and replicated at once.

  // Rows of the outbox are not sent until PutBack.
  void TakeOut();
  void PutBack();
  void SetRecord(const BirthRecord& record);

  // ---- Failures. Both terminate the walsenders.

  void Crash();
  void Promote();
  // Takes a snapshot of the volume, or restores the last one. False: there is
  // none of this timeline.
  void TakeSnapshot();
  bool RestoreSnapshot();

  // The message that cannot be delivered: the event with this number has
  // content that is not JSON.
  void Poison(uint64_t number) { poisoned_ = number; }
  // Some events have an aggregate type that does not make a topic.
  void HaveIllegalTopics() { has_illegal_topics_ = true; }
  static bool HasIllegalTopic(uint64_t id) { return id % 7 == 3; }

  // ---- For the walsender.

  void OnFeedback(Lsn confirmed) override;
  // Limit of the WAL that may be sent.
  Lsn send_limit() const {
    return Lsn(options_.awaits_standby ? std::min(flushed_, replicated_)
                                       : flushed_);
  }
  // The first transaction that PostgreSQL sends: it omits commit LSNs before
  // the start.
  size_t FirstFrom(Lsn start) const;
  const std::vector<Transaction>& transactions() const { return transactions_; }
  std::string MessageOf(const SimulatedEvent& event) const;

  // ---- The truth.

  uint32_t timeline() const { return timeline_; }
  // LSN where an earlier timeline was left.
  Lsn fork(uint32_t timeline) const { return forks_[timeline - 1]; }
  void SetPause(const PauseRecord& record);
  const SimulatedCatalog& catalog() const { return catalog_; }
  bool has_orders() const { return options_.has_orders; }
  // Rows that no stream will ever have, until somebody publishes them from the
  // table.
  size_t withheld_count() const;
  void PublishWithheld() { withheld_.clear(); }
  // The operator continues without them; they stay in the table.
  void GiveUpWithheld();

  // ---- For retention.

  struct Mark {
    Lsn wal_end;
    uint32_t next_xid;
  };
  Mark TakeMark() const { return {Lsn(wal_end_), next_xid_}; }
  struct Deleted {
    std::vector<uint64_t> ids;  // of events
    size_t withheld = 0;        // rows that were never sent
  };
  // Deletes rows of transactions from one xid on and before the mark.
  Deleted Delete(const Mark& mark, uint64_t from_xid);
  // Id of the next transaction.
  uint32_t next_xid() const { return next_xid_; }
  // Counts the WALs that replaced another one.
  uint32_t history() const { return history_; }
  Lsn confirmed() const override { return confirmed_; }
  Lsn flushed() const { return Lsn(flushed_); }
  size_t event_count() const { return numbers_.size(); }
  const SimulatedEvent& Numbered(uint64_t number) const {
    return all_events_[numbers_[number]];
  }
  // nullptr: an id that was never committed.
  const SimulatedEvent* WithId(uint64_t id) const {
    return id < all_events_.size() ? &all_events_[id] : nullptr;
  }
  // Number of events in a partition now.
  uint64_t events_in(size_t partition) const {
    return events_in_partition_[partition];
  }
  uint64_t events_of(size_t key) const { return events_of_key_[key]; }
  // Number of the first events that are in transactions that a stream from
  // `start` omits.
  uint64_t EventsBefore(Lsn start) const;
  Lsn last_end() const {
    return transactions_.empty() ? Lsn() : transactions_.back().end_lsn;
  }

 private:
  static constexpr uint64_t kAlignment = 8;  // of WAL records

  void AddEvent();
  void WriteToCatalog();
  uint64_t EndOfRecords(uint64_t lsn) const;
  void LoseWalAfter(uint64_t lsn);

  World& world_;
  Options options_;
  std::vector<SimulatedEvent> all_events_;  // by id
  std::vector<uint64_t> numbers_;           // ids in commit order
  std::vector<Transaction> transactions_;
  std::array<uint64_t, kPartitions> events_in_partition_{};
  std::array<uint64_t, kKeys> events_of_key_{};
  struct Withheld {
    Lsn written_at;
    uint32_t xid;
    bool is_given_up = false;
  };
  std::vector<Withheld> withheld_;
  size_t deleted_ = 0;  // transactions
  uint64_t poisoned_ = UINT64_MAX;
  bool has_illegal_topics_ = false;

  uint64_t wal_end_ = kWalBegin.value();
  uint64_t flushed_ = kWalBegin.value();
  uint64_t replicated_ = kWalBegin.value();
  uint32_t timeline_ = 1;
  uint32_t history_ = 1;
  uint32_t next_xid_ = 700;
  std::vector<Lsn> forks_;  // by timeline, from 1
  SimulatedCatalog catalog_;

  struct Snapshot {
    uint64_t flushed;
    uint64_t replicated;
    Lsn stored;
    uint32_t timeline;
    SimulatedCatalog catalog;
  };
  std::optional<Snapshot> snapshot_;

  Lsn confirmed_;
  Lsn stored_;
  Lsn on_standby_;  // position of the synchronised slot
};

}  // namespace walpost::sim
