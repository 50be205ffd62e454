#include "sim/checker.h"

#include <algorithm>

#include "delivery/gap.h"
#include "fmt/format.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_walsender.h"

namespace walpost::sim {
namespace {

template <typename T>
void Set(std::vector<T>& values, uint64_t index, T value) {
  if (values.size() <= index) values.resize(2 * index + 64);
  values[index] = value;
}

}  // namespace

void Checker::Find(const char* promise, const char* text, uint64_t first,
                   uint64_t second) {
  if (finding_) return;
  finding_ = Finding{promise, fmt::format(fmt::runtime(text), first, second)};
}

// ---- Called for a relay.

void Checker::OnFreshStart(int relay) {
  Process& process = relays_[Index(relay)];
  ++process.life;
  process.boundaries.clear();
  process.confirmed = Lsn();
}

void Checker::OnStreamStart(int relay) {
  Process& process = relays_[Index(relay)];
  process.last_turn = world_.now;
  process.is_late = false;
  process.letters = letters_;
  const std::optional<BirthRecord> record = server_.catalog().record();
  if (process.has_gap) {
    Find("P9", "relay {} streams again, and nobody has ended its gap",
         static_cast<uint64_t>(relay));
  }
  if (record && !record->gap.empty()) {
    Find("P9", "relay {} streams, although a gap is on record",
         static_cast<uint64_t>(relay));
  }
}

// Without a store, it cannot be known whether another instance or an operator
// moved the slot.
void Checker::OnGap(int relay, std::string_view code) {
  // Over when the slot has gone back, too (OnOrdersStream).
  if (code == kGapTablePassedOver && server_.has_orders()) return;
  relays_[Index(relay)].has_gap = true;
  if (options_.has_gaps || code == kGapSlotAdvanced) return;
  Find("P9", "relay {} names a gap where there is none",
       static_cast<uint64_t>(relay));
}

void Checker::OnGapsEnded() {
  for (Process& process : relays_) process.has_gap = false;
  // The operator has said to begin where the slot stands, which may be before
  // what is committed.
  committed_.clear();
}

// After half of wal_sender_timeout without a turn it must stop. The checker
// requires it only after all of it.
void Checker::OnTurn(int relay, bool slot_is_anothers) {
  Process& process = relays_[Index(relay)];
  const auto gap = world_.now - process.last_turn;
  process.last_turn = world_.now;
  if (slot_is_anothers && gap > SimulatedWalsender::kTimeout) {
    process.is_late = true;
  }
}

void Checker::OnCompany(int relay) {
  Find("P3", "relay {} takes a record for alone that is not",
       static_cast<uint64_t>(relay));
}

void Checker::OnHandedOver(int relay, uint64_t id, bool /*is_dead_letter*/) {
  const SimulatedEvent* event = server_.WithId(id);
  if (event == nullptr) return Find("P4", "event {} is of nobody", id);
  Process& process = relays_[Index(relay)];
  if (process.is_late) {
    Find("P2",
         "event {} is handed over after a suspension, by relay {} that has "
         "lost the slot",
         id, static_cast<uint64_t>(relay));
  }
  if (process.is_paused) {
    Find("paused", "event {} is sent by relay {} all the same", id,
         static_cast<uint64_t>(relay));
  }
  if (id < process.known_in.size() && process.known_in[id] == process.life) {
    Find("P5", "event {} is sent again by relay {}, which knew it acknowledged",
         id, static_cast<uint64_t>(relay));
  }
  if (process.letters.contains(id)) {
    Find("P8", "event {} is sent, although its dead letter was stored", id);
  }
  if (options_.bad_event_is_undeliverable &&
      event->number > options_.bad_event) {
    Find("P8", "event {} went past event number {}, which stops the flow", id,
         options_.bad_event);
  }
}

void Checker::OnAcknowledged(int relay, uint64_t id, bool /*is_dead_letter*/) {
  Set(relays_[Index(relay)].known_in, id, relays_[Index(relay)].life);
  Set(acknowledged_, id, true);
}

void Checker::OnOrdersConfirmed(int relay, Lsn confirmed) {
  std::set<Lsn>& taken = relays_[Index(relay)].orders;
  const auto end = taken.lower_bound(confirmed);
  orders_.insert(taken.begin(), end);
  taken.erase(taken.begin(), end);
}

void Checker::OnOrdersStream(Lsn resumes_at) {
  for (const auto& transaction : server_.transactions()) {
    if (transaction.commit_lsn >= resumes_at) break;
    if (!transaction.has_order) continue;
    if (orders_.contains(transaction.commit_lsn)) continue;
    Find("P9", "a row of a new table, committed at {:X}, was passed over",
         transaction.commit_lsn.value());
  }
}

void Checker::OnOrdersSettled(Lsn before) {
  for (const auto& transaction : server_.transactions()) {
    if (transaction.commit_lsn >= before) break;
    if (transaction.has_order) orders_.insert(transaction.commit_lsn);
  }
}

void Checker::OnConfirmed(int relay, Lsn confirmed, uint32_t history) {
  Process& process = relays_[Index(relay)];
  if (confirmed == process.confirmed) return;
  if (confirmed < process.confirmed) {
    Find("P2", "confirmed goes back, from {:X} to {:X}",
         process.confirmed.value(), confirmed.value());
  }
  if (!process.boundaries.contains(confirmed)) {
    Find("P2", "confirmed is {:X}, where no boundary was", confirmed.value());
  }
  process.confirmed = confirmed;
  process.boundaries.erase(process.boundaries.begin(),
                           process.boundaries.find(confirmed));
  // LSNs of another WAL cannot be compared.
  if (history != server_.history()) return;
  const uint64_t gone = server_.EventsBefore(confirmed);
  if (gone > options_.bad_event) {
    Find("P8", "confirmed past event number {}, which stops the flow",
         options_.bad_event);
  }
  for (; checked_ < gone; ++checked_) {
    if (!WasAcknowledged(server_.Numbered(checked_).id)) {
      return Find("P2",
                  "confirmed {:X} too early: event {} is not acknowledged",
                  confirmed.value(), server_.Numbered(checked_).id);
    }
  }
}

void Checker::OnCleanEnd(int relay, bool is_late) {
  if (!is_late) return;
  Find("P10", "relay {} did not end in time", static_cast<uint64_t>(relay));
}

// ---- Called for the brokers.

void Checker::OnWritten(int relay, uint64_t producer, size_t partition,
                        uint64_t id, bool is_late) {
  const SimulatedEvent* event = server_.WithId(id);
  if (event == nullptr) return Find("P4", "event {} is of nobody", id);
  world_.Note(relay, is_late ? "event {} arrives late" : "event {} is written",
              id);
  if (event->has_vanished) {
    if (!options_.phantoms) Find("P4", "event {} has vanished", id);
    return;
  }
  if (partition != PartitionOf(event->key)) {
    return Find("P3", "event {} comes to partition {}, where its key is not",
                id, partition);
  }
  Set(written_, id, true);
  if (ComesInAnyOrder(*event)) return;
  const uint64_t number = NumberIn(*event);
  Log& log = logs_[LogOf(*event)];
  while (discarded_.contains({LogOf(*event), log.written})) ++log.written;
  if (number > log.written && !MayComeNext(*event)) {
    OnGap(LogOf(*event), *event);
  }
  if (options_.strict_order && number > log.last) {
    Find("P3", "event {} after a re-send that is not contiguous", id);
  }
  log.written = std::max(log.written, number + 1);
  log.last = number + 1;
  CheckRun(producer, LogOf(*event), *event);
  if (event->number == options_.bad_event) {
    Find("P8", "event {} was to be refused", id);
  }
}

void Checker::OnCommitted(uint64_t id) {
  if (options_.is_exactly_once && id < committed_.size() && committed_[id]) {
    Find("P5", "event {} is committed twice", id);
  }
  Set(committed_, id, true);
  Set(acknowledged_, id, true);
}

// ---- Called for the table of parked events.

void Checker::OnParked(uint64_t id) {
  if (server_.WithId(id) == nullptr) Find("P4", "event {} is of nobody", id);
  Set(acknowledged_, id, true);
}

void Checker::OnDiscarded(uint64_t id) {
  const SimulatedEvent& event = *server_.WithId(id);
  discarded_.insert({LogOf(event), NumberIn(event)});
  Set(written_, id, true);
}

size_t Checker::LogOf(const SimulatedEvent& event) const {
  return options_.order_is_of_keys ? static_cast<size_t>(event.key)
                                   : PartitionOf(event.key);
}

uint64_t Checker::NumberIn(const SimulatedEvent& event) const {
  return options_.order_is_of_keys ? event.number_in_key
                                   : event.number_in_partition;
}

uint64_t Checker::LengthOf(size_t log) const {
  if (options_.order_is_of_keys) return server_.events_of(log);
  return log < kPartitions ? server_.events_in(log) : 0;
}

// ---- Called for the brokers.

void Checker::OnPlace(uint64_t id, bool is_dead_letter, bool is_released) {
  if (options_.has_stored_letters) {
    if (is_dead_letter) Find("P8", "the dead letter of {} is in Kafka", id);
    return;
  }
  const bool is_bad = options_.has_dead_letters && !is_released &&
                      (SimulatedPostgres::HasIllegalTopic(id) ||
                       SimulatedBrokers::IsTooLarge(id));
  if (is_dead_letter && !is_bad) {
    Find("P8", "event {} has a dead letter, and nothing is wrong with it", id);
  }
  if (!is_dead_letter && is_bad) {
    Find("P8", "event {} is in its topic, and should have a dead letter", id);
  }
}

// A dead letter in a table holds up nothing, and is retried at any time.
bool Checker::ComesInAnyOrder(const SimulatedEvent& event) const {
  return options_.has_stored_letters &&
         (SimulatedPostgres::HasIllegalTopic(event.id) ||
          SimulatedBrokers::IsTooLarge(event.id));
}

// All events of its log before it are there, or come in any order.
bool Checker::MayComeNext(const SimulatedEvent& event) const {
  const size_t log = LogOf(event);
  for (uint64_t number = event.number; number-- > 0;) {
    const SimulatedEvent& before = server_.Numbered(number);
    if (LogOf(before) != log) continue;
    if (NumberIn(before) < logs_[log].written) return true;
    const bool is_settled = discarded_.contains({log, NumberIn(before)});
    if (!is_settled && !ComesInAnyOrder(before)) return false;
  }
  return true;
}

void Checker::OnGap(size_t log, const SimulatedEvent& event) {
  const uint64_t bad = options_.bad_event;
  if (event.number > bad) {
    const SimulatedEvent& stop = server_.Numbered(bad);
    if (LogOf(stop) == log && NumberIn(stop) == logs_[log].written) {
      return Find("P8", "event {} went past event number {}, which stops it",
                  event.id, bad);
    }
  }
  Find("P3",
       "event {} came before its turn: event number {} of its partition was "
       "never there",
       event.id, logs_[log].written);
}

// One producer repeats nothing, and skips only events that somebody knows to be
// acknowledged.
void Checker::CheckRun(uint64_t producer, size_t log,
                       const SimulatedEvent& event) {
  const auto [run, is_first] =
      runs_.try_emplace({producer, log}, NumberIn(event));
  uint64_t& expected = run->second;
  if (NumberIn(event) < expected) {
    Find("P3", "event {} came again from one producer, expected was number {}",
         event.id, expected);
  }
  // Rare: another instance has delivered the events between.
  for (uint64_t number = event.number;
       expected < NumberIn(event) && number-- > 0;) {
    const SimulatedEvent& before = server_.Numbered(number);
    if (LogOf(before) != log) continue;
    if (NumberIn(before) < expected) break;
    if (!WasAcknowledged(before.id) && !ComesInAnyOrder(before)) {
      return Find("P3", "event {} came in the place of event {}", event.id,
                  before.id);
    }
  }
  expected = NumberIn(event) + 1;
}

// ---- Called for the server.

void Checker::OnSlotConfirmed() {
  const Lsn confirmed = server_.confirmed();
  if (confirmed < slot_) {
    Find("P2", "the slot goes back, from {:X} to {:X}", slot_.value(),
         confirmed.value());
  }
  slot_ = confirmed;
  const uint64_t gone = server_.EventsBefore(confirmed);
  for (uint64_t number = std::min(checked_, gone); number < gone; ++number) {
    if (!WasAcknowledged(server_.Numbered(number).id)) {
      return Find("P2", "the slot stands at {:X}: event {} is not acknowledged",
                  confirmed.value(), server_.Numbered(number).id);
    }
  }
}

void Checker::OnServerLost() {
  slot_ = server_.confirmed();
  checked_ = std::min<uint64_t>(checked_, server_.event_count());
  for (size_t i = 0; i < kMaxLogs; ++i) {
    logs_[i].written = std::min(logs_[i].written, LengthOf(i));
    logs_[i].last = std::min(logs_[i].last, LengthOf(i));
  }
  for (auto& [producer_and_log, expected] : runs_) {
    expected = std::min(expected, LengthOf(producer_and_log.second));
  }
}

void Checker::OnDeleted(const SimulatedPostgres::Deleted& deleted) {
  if (deleted.withheld > 0) {
    Find("P11", "{} rows are deleted that were never sent", deleted.withheld);
  }
  for (const uint64_t id : deleted.ids) {
    if (!WasAcknowledged(id)) {
      return Find("P11", "event {} is deleted, and is not acknowledged", id);
    }
  }
}

// ---- At the end.

void Checker::CheckWithheld() {
  if (server_.withheld_count() == 0) return;
  Find("P9", "{} rows were not sent, and no gap was named",
       server_.withheld_count());
}

void Checker::OnHang() {
  CheckWithheld();
  Find("P1", "it hangs: {} of {} events are in Kafka", written_numbers(),
       server_.event_count());
}

uint64_t Checker::deliverable_events() const {
  return std::min<uint64_t>(server_.event_count(), options_.bad_event);
}

uint64_t Checker::written_numbers() const {
  uint64_t number = 0;
  while (number < deliverable_events() &&
         server_.Numbered(number).id < written_.size() &&
         written_[server_.Numbered(number).id]) {
    ++number;
  }
  return number;
}

bool Checker::IsAllAcknowledged() {
  while (checked_ < deliverable_events() &&
         WasAcknowledged(server_.Numbered(checked_).id)) {
    ++checked_;
  }
  return checked_ == deliverable_events();
}

void Checker::OnEnd(bool stopped) {
  if (written_numbers() < deliverable_events()) {
    Find("P1", "lost: event {}", server_.Numbered(written_numbers()).id);
  }
  CheckWithheld();
  const bool stops = options_.bad_event < server_.event_count();
  if (stops && !stopped) {
    Find("P8", "event number {} did not stop the flow", options_.bad_event);
  }
  if (!stops && stopped) Find("P8", "the flow stopped without a reason");
  if (stops || !options_.strict_order) return;
  for (size_t i = 0; i < kMaxLogs; ++i) {
    if (logs_[i].last < logs_[i].written) {
      Find("P3", "an older record stands alone at the end of partition {}", i);
    }
  }
}

}  // namespace walpost::sim
