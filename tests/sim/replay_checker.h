// ReplayChecker: compares what walpost replay does with the transactions of its
// range. It shares no code with what it checks.
//
//   P1  an event of the range is not done, although the verb says that it is;
//       or the verb does not come to an end
//   P2  a slot of others moves, or the verb's own is told to confirm what is
//       not done
//   P3  out of order within a run of the verb
//   P5  sent again by a run that knew it was acknowledged
//   P8  an event that cannot be delivered is passed, or a good one set aside
//   P9  missing WAL is passed over, or named where it is there
//   P10 an end that takes too long
//   range: something is sent that is not of the range, or is on record
//   count: the verb reports a wrong number
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backfill/range_backfill.h"
#include "checkpoint/replay_range.h"
#include "delivery/error_actions.h"
#include "sim/delivery_checker.h"
#include "sim/finding.h"
#include "sim/simulated_postgres.h"
#include "sim/world.h"

namespace walpost::sim {

class ReplayChecker final : public DeliveryChecker {
 public:
  struct Order {
    ReplayRequest request;
    std::optional<WallTime> since;
    ErrorActions on_error;
    bool is_dry_run = false;
  };
  // What the verb says at its end.
  struct Report {
    absl::Status status;
    bool is_complete = false;
    Lsn resume;
    RangeBackfill::Counts counts;
    std::optional<Position> stopped_before;
    bool was_stopped = false;  // by an operator
  };

  // `has_bad_events`: some have an illegal topic, or are too large.
  ReplayChecker(World& world, const SimulatedPostgres& server,
                bool has_bad_events)
      : world_(world), server_(server), has_bad_events_(has_bad_events) {}

  const std::optional<Finding>& finding() const { return finding_; }

  // ---- Called for a run of the verb, which is the sender of its records.

  void OnStart(int run, Order order) { runs_[run].order = std::move(order); }
  // The guard slot was at `oldest`, the live slot at `confirmed`.
  void OnOpened(int run, const ReplayRange& range, Lsn oldest, Lsn confirmed);
  void OnRejected(int run, Lsn from, Lsn to, Lsn oldest, Lsn confirmed);
  // The events, by id, that are on record.
  void OnRecordRead(int run, std::set<uint64_t> ids);
  void OnSkipped(int run, const Position& position);
  // Its walsender has read a status.
  void OnTold(int run, Lsn confirmed);
  void OnEnd(int run, const Report& report);
  // The guard slot moves to an LSN; `limit`: the last one that leaves the
  // window whole.
  void OnGuardMoved(Lsn to, Lsn limit) {
    if (to > limit) {
      Find("P9", "the guard slot moves to {:X}, past {:X}", to.value(),
           limit.value());
    }
  }
  void OnLateEnd() { Find("P10", "replay does not end in time"); }
  void OnHang() { Find("P1", "it hangs: no replay is complete"); }
  void OnOtherSlotMoved() { Find("P2", "replay moves the slot of others"); }

  // ---- DeliveryChecker.

  const SimulatedPostgres& server() const override { return server_; }
  void OnHandedOver(int run, uint64_t id, bool is_dead_letter) override;
  void OnAcknowledged(int run, uint64_t id, bool is_dead_letter) override;
  void OnWritten(int run, uint64_t producer, size_t partition, uint64_t id,
                 bool is_late) override;
  void OnPlace(uint64_t id, bool is_dead_letter, bool is_released) override;
  // A replay has neither transactions nor records that go alone.
  void OnCompany(int) override {}
  void OnEarlyCommit() override {}
  void OnCommitted(uint64_t) override {}

 private:
  // What is to become of an event of the range.
  enum class Fate { kSent, kLetter, kSkipped, kStops, kOnRecord, kTooOld };

  struct Run {
    Order order;
    std::optional<ReplayRange> range;
    uint64_t begin = 0;  // of the range, as numbers of events
    uint64_t young = 0;  // the first that is not too old
    uint64_t end = 0;
    std::set<uint64_t> on_record;  // ids
    // Numbers of events. Acknowledged are those in their topics.
    std::set<uint64_t> acknowledged;
    std::set<uint64_t> letters;
    std::set<uint64_t> skipped;
    // By partition: the number behind the newest one written.
    std::array<uint64_t, kPartitions> written{};
    // By producer and partition: likewise.
    std::map<std::pair<uint64_t, size_t>, uint64_t> written_by;
  };
  struct Numbers {
    uint64_t events = 0;
    uint64_t undeliverable = 0;
    uint64_t too_old = 0;
    uint64_t left_out = 0;
  };

  void Find(const char* promise, const char* text, uint64_t first = 0,
            uint64_t second = 0);
  bool HasIllegalTopic(uint64_t id) const;
  bool IsTooLarge(uint64_t id) const;
  Fate FateOf(const Run& run, const SimulatedEvent& event) const;
  bool IsDone(const Run& run, uint64_t number) const;
  void CheckDone(const Run& run, uint64_t end, const char* promise,
                 const char* text);
  Numbers Count(const Run& run, uint64_t end) const;
  void CheckCounts(const Run& run, const Report& report);
  void CheckStop(const Run& run, const Report& report);
  void CheckNoneIsPassed(const Run& run, const SimulatedEvent& event,
                         uint64_t begin);

  World& world_;
  const SimulatedPostgres& server_;
  bool has_bad_events_;
  std::optional<Finding> finding_;
  std::map<int, Run> runs_;
};

}  // namespace walpost::sim
