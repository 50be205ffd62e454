// Checker: compares the promises of docs/delivery.md with what happens.
//
// It is told what relays hand over, what the brokers write and acknowledge and
// what is confirmed, and compares that with the transactions that the server
// committed. It shares no code with what it checks. The first broken promise is
// kept; the simulation stops there.
//
//   P1  an event is missing, or the relay does not reach it
//   P2  confirmed too early, backwards, or where there was no boundary
//   P3  out of order, or a re-send that is not a contiguous run
//   P4  a record of something that was not committed
//   P5  sent again by a process that knew it was acknowledged
//   P8  something went past an event that stops the flow, or an event is in the
//       wrong place
//   P9  rows that are not sent are not noticed, a gap is forgotten, or
//       reported where there is none
//   paused: something is sent although the relay has seen the pause
//   P10 a shutdown that takes too long
//   P11 a row is deleted that is not in Kafka
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/lsn.h"
#include "sim/delivery_checker.h"
#include "sim/finding.h"
#include "sim/simulated_postgres.h"
#include "sim/world.h"

namespace walpost::sim {

inline constexpr int kMaxRelays = 2;

class Checker final : public DeliveryChecker {
 public:
  struct Options {
    // One instance, one server, no late arrivals: each whole partition consists
    // of contiguous runs.
    bool strict_order = false;
    // Commits that a consumer has seen may be lost with a primary.
    bool phantoms = false;
    // There are causes of gaps: a restored server, rows not sent.
    bool has_gaps = false;
    // Number of the event that stops the flow, and whether the flow stops
    // before anything behind the event is handed over.
    uint64_t bad_event = UINT64_MAX;
    bool bad_event_is_undeliverable = false;
    // Events with an illegal topic, or that are too large, have dead letters.
    bool has_dead_letters = false;
    // Every event is committed once.
    bool is_exactly_once = false;
    // They are parked instead.
    bool has_parking = false;
    // The order is that of keys, not of partitions.
    bool order_is_of_keys = false;
    // They have dead letters in that table, and come in any order.
    bool has_stored_letters = false;
  };

  Checker(World& world, const SimulatedPostgres& server, const Options& options)
      : world_(world), server_(server), options_(options) {}

  const SimulatedPostgres& server() const override { return server_; }
  const std::optional<Finding>& finding() const { return finding_; }

  // ---- Called for a relay.

  // A new process: it knows of a gap only if that is on record.
  void OnProcessStart(int relay) {
    relays_[Index(relay)].has_gap = false;
    relays_[Index(relay)].is_paused = false;
    relays_[Index(relay)].orders.clear();
  }
  // A new process, or one that starts over: it knows nothing.
  void OnFreshStart(int relay);
  // It reports a gap. An operator resolves all of them.
  void OnGap(int relay, std::string_view code);
  void OnGapsEnded();
  // It has looked whether an operator has paused the slot.
  void OnPauseSeen(int relay, bool is_paused) {
    relays_[Index(relay)].is_paused = is_paused;
  }
  // It has taken a row of `orders`. Those before `confirmed` are done with.
  void OnOrder(int relay, Lsn commit_lsn) {
    relays_[Index(relay)].orders.insert(commit_lsn);
  }
  void OnOrdersConfirmed(int relay, Lsn confirmed);
  // It has `orders` in its configuration, and streams from there on.
  void OnOrdersStream(Lsn resumes_at);
  // An operator has published what was passed over before it.
  void OnOrdersSettled(Lsn before);
  // Its source takes a turn, while it or another instance has the slot.
  void OnTurn(int relay, bool slot_is_anothers);
  // Its stream begins at the slot's present position.
  void OnStreamStart(int relay);
  void OnHandedOver(int relay, uint64_t id, bool is_dead_letter) override;
  void OnAcknowledged(int relay, uint64_t id, bool is_dead_letter) override;
  void OnCompany(int relay) override;
  void OnEarlyCommit() override {
    Find("P5", "a transaction is committed too early");
  }
  void OnBoundary(int relay, Lsn lsn) {
    relays_[Index(relay)].boundaries.insert(lsn);
  }
  void OnConfirmed(int relay, Lsn confirmed, uint32_t history);
  // It was asked to stop, and has stopped.
  void OnCleanEnd(int relay, bool is_late);

  // ---- Called for the brokers.

  void OnWritten(int relay, uint64_t producer, size_t partition, uint64_t id,
                 bool is_late) override;
  void OnCommitted(uint64_t id) override;
  void OnPlace(uint64_t id, bool is_dead_letter, bool is_released) override;

  // ---- Called for the table of parked events.

  // It has the event, durably; as a dead letter; the operator has given it up.
  void OnParked(uint64_t id);
  void OnLetter(uint64_t id) { letters_.insert(id); }
  void OnDiscarded(uint64_t id);

  // ---- Called for the server.

  void OnSlotConfirmed();
  // Confirmations were forgotten, and commits may have been lost.
  void OnServerLost();

  // Retention has deleted rows.
  void OnDeleted(const SimulatedPostgres::Deleted& deleted);

  // ---- At the end.

  void OnHang();
  void OnEnd(bool stopped);

  // True if everything that should be delivered was acknowledged.
  bool IsAllAcknowledged();
  // Committed events from the first one that is not acknowledged on.
  uint64_t backlog() const { return server_.event_count() - checked_; }

 private:
  struct Process {
    uint32_t life = 1;               // counts fresh starts
    std::vector<uint32_t> known_in;  // by id: life that knows it acknowledged
    std::set<Lsn> boundaries;
    Lsn confirmed;
    MonotonicTime last_turn;
    bool is_late = false;
    bool has_gap = false;
    bool is_paused = false;
    std::set<uint64_t> letters;  // that were stored when its stream began
    std::set<Lsn> orders;        // taken, and not confirmed
  };
  // The records whose order counts: a partition, or a key of it.
  struct Log {
    uint64_t written = 0;  // first occurrences: lower numbers exist
    uint64_t last = 0;     // number after that of the last record
  };
  static constexpr size_t kMaxLogs = kKeys;

  static size_t Index(int relay) { return static_cast<size_t>(relay); }
  void Find(const char* promise, const char* text, uint64_t first = 0,
            uint64_t second = 0);
  void CheckWithheld();
  size_t LogOf(const SimulatedEvent& event) const;
  uint64_t NumberIn(const SimulatedEvent& event) const;
  uint64_t LengthOf(size_t log) const;
  void OnGap(size_t log, const SimulatedEvent& event);
  bool ComesInAnyOrder(const SimulatedEvent& event) const;
  bool MayComeNext(const SimulatedEvent& event) const;
  void CheckRun(uint64_t producer, size_t log, const SimulatedEvent& event);
  bool WasAcknowledged(uint64_t id) const {
    return id < acknowledged_.size() && acknowledged_[id];
  }
  uint64_t written_numbers() const;
  uint64_t deliverable_events() const;

  World& world_;
  const SimulatedPostgres& server_;
  Options options_;
  std::optional<Finding> finding_;

  std::array<Process, kMaxRelays> relays_;
  std::array<Log, kMaxLogs> logs_;
  std::set<std::pair<size_t, uint64_t>> discarded_;  // log, and number in it
  std::set<uint64_t> letters_;                       // ids
  // By producer and log: the next expected number.
  std::map<std::pair<uint64_t, size_t>, uint64_t> runs_;
  std::vector<bool> acknowledged_;  // to anybody, by id
  std::vector<bool> written_;       // by id
  std::vector<bool> committed_;     // likewise
  uint64_t checked_ = 0;            // lower numbers are acknowledged
  std::set<Lsn> orders_;            // done with
  Lsn slot_;
};

}  // namespace walpost::sim
