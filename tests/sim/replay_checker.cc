#include "sim/replay_checker.h"

#include <algorithm>

#include "base/reason_code.h"
#include "fmt/format.h"
#include "sim/simulated_brokers.h"

namespace walpost::sim {

void ReplayChecker::Find(const char* promise, const char* text, uint64_t first,
                         uint64_t second) {
  if (finding_) return;
  finding_ = Finding{promise, fmt::format(fmt::runtime(text), first, second)};
}

// ---- The truth.

bool ReplayChecker::HasIllegalTopic(uint64_t id) const {
  return has_bad_events_ && SimulatedPostgres::HasIllegalTopic(id);
}

bool ReplayChecker::IsTooLarge(uint64_t id) const {
  return has_bad_events_ && SimulatedBrokers::IsTooLarge(id);
}

ReplayChecker::Fate ReplayChecker::FateOf(const Run& run,
                                          const SimulatedEvent& event) const {
  if (event.number < run.young) return Fate::kTooOld;
  if (run.on_record.contains(event.id)) return Fate::kOnRecord;
  const bool is_illegal = HasIllegalTopic(event.id);
  if (!is_illegal && !IsTooLarge(event.id)) return Fate::kSent;
  const std::string_view code =
      is_illegal ? kReasonTopicIllegal : kReasonRecordTooLarge;
  switch (run.order.on_error.Get(FindErrorClass(code))) {
    case ErrorAction::kDeadLetter:
      return Fate::kLetter;
    case ErrorAction::kSkip:
      return Fate::kSkipped;
    case ErrorAction::kStop:
    case ErrorAction::kPark:
      break;
  }
  return Fate::kStops;
}

bool ReplayChecker::IsDone(const Run& run, uint64_t number) const {
  switch (FateOf(run, server_.Numbered(number))) {
    case Fate::kSent:
      return run.acknowledged.contains(number);
    case Fate::kLetter:
      return run.letters.contains(number);
    case Fate::kSkipped:
      return run.skipped.contains(number);
    case Fate::kStops:
      return false;
    case Fate::kOnRecord:
    case Fate::kTooOld:
      break;
  }
  return true;
}

void ReplayChecker::CheckDone(const Run& run, uint64_t end, const char* promise,
                              const char* text) {
  for (uint64_t number = run.begin; number < end; ++number) {
    if (!IsDone(run, number)) {
      return Find(promise, text, server_.Numbered(number).id);
    }
  }
}

// ---- The course of a run.

void ReplayChecker::OnOpened(int number, const ReplayRange& range, Lsn oldest,
                             Lsn confirmed) {
  Run& run = runs_[number];
  if (run.range) return;  // a further round
  const ReplayRequest& asked = run.order.request;
  const Lsn from = asked.from.is_valid() ? asked.from : oldest;
  const Lsn to = asked.to.is_valid() ? asked.to : confirmed;
  if (from < oldest || to > confirmed || range.from != from || range.to != to) {
    Find("P9", "the range begins at {:X}, and the WAL at {:X}",
         range.from.value(), oldest.value());
  }
  run.range = range;
  run.begin = run.young = server_.EventsBefore(range.from);
  run.end = std::max(run.begin, server_.EventsBefore(range.to));
  for (const auto& transaction : server_.transactions()) {
    const bool is_old =
        run.order.since && transaction.committed_at < *run.order.since;
    if (is_old && transaction.commit_lsn < range.to) {
      run.young = std::max<uint64_t>(run.young, transaction.end_event);
    }
  }
  run.written.fill(run.begin);
}

void ReplayChecker::OnRejected(int, Lsn from, Lsn to, Lsn oldest,
                               Lsn confirmed) {
  const Lsn begin = from.is_valid() ? from : oldest;
  const Lsn end = to.is_valid() ? to : confirmed;
  if (begin >= oldest && end <= confirmed && begin <= end) {
    Find("P9", "the WAL from {:X} on is said to be missing: it begins at {:X}",
         from.value(), oldest.value());
  }
}

void ReplayChecker::OnRecordRead(int run, std::set<uint64_t> ids) {
  runs_[run].on_record = std::move(ids);
}

// Ordinals count the events of a transaction.
void ReplayChecker::OnSkipped(int number, const Position& position) {
  Run& run = runs_[number];
  const uint64_t event =
      server_.EventsBefore(position.commit_lsn) + position.ordinal - 1;
  const bool is_right =
      event < run.end && FateOf(run, server_.Numbered(event)) == Fate::kSkipped;
  if (!is_right) Find("P8", "event number {} is left out", event);
  if (!run.skipped.insert(event).second) {
    Find("count", "event number {} is left out twice", event);
  }
}

void ReplayChecker::OnTold(int number, Lsn confirmed) {
  const Run& run = runs_[number];
  if (run.order.is_dry_run) return;
  CheckDone(run, std::min(run.end, server_.EventsBefore(confirmed)), "P2",
            "its slot is confirmed past event {}, which is not done");
}

void ReplayChecker::OnEnd(int number, const Report& report) {
  const Run& run = runs_[number];
  if (!run.range) {
    if (report.is_complete || report.status.ok()) {
      Find("P1", "it has ended before it has begun");
    }
    return;
  }
  CheckCounts(run, report);
  if (report.resume < run.range->from || report.resume > run.range->to) {
    Find("range", "it is to be continued at {:X}, outside of its range",
         report.resume.value());
  }
  if (report.is_complete && report.resume != run.range->to) {
    Find("P1", "it is complete, and to be continued at {:X}",
         report.resume.value());
  }
  if (!report.is_complete && report.status.ok() && !report.was_stopped) {
    Find("P1", "it ends without an error, and is not complete");
  }
  CheckStop(run, report);
  if (run.order.is_dry_run) return;
  const uint64_t end =
      report.is_complete
          ? run.end
          : std::min(run.end, server_.EventsBefore(report.resume));
  CheckDone(run, end, "P1", "event {} is lost");
}

void ReplayChecker::CheckStop(const Run& run, const Report& report) {
  if (!report.stopped_before) return;
  const Position& position = *report.stopped_before;
  const uint64_t event =
      server_.EventsBefore(position.commit_lsn) + position.ordinal - 1;
  const bool is_right =
      event < run.end && FateOf(run, server_.Numbered(event)) == Fate::kStops;
  if (!is_right) Find("P8", "event number {} stops it without a reason", event);
}

// ---- Counts.

ReplayChecker::Numbers ReplayChecker::Count(const Run& run,
                                            uint64_t end) const {
  Numbers numbers;
  for (uint64_t number = run.begin; number < end; ++number) {
    const SimulatedEvent& event = server_.Numbered(number);
    const Fate fate = FateOf(run, event);
    if (fate == Fate::kTooOld) {
      ++numbers.too_old;
    } else if (fate == Fate::kOnRecord) {
      ++numbers.left_out;
    } else if (run.order.is_dry_run && HasIllegalTopic(event.id)) {
      ++numbers.undeliverable;
    } else {
      ++numbers.events;
    }
  }
  return numbers;
}

// What was passed over lies before the newest event that was read, which is
// behind the place to continue at.
void ReplayChecker::CheckCounts(const Run& run, const Report& report) {
  const RangeBackfill::Counts& said = report.counts;
  const Numbers most = Count(run, run.end);
  const uint64_t done =
      report.is_complete
          ? run.end
          : std::min(run.end, server_.EventsBefore(report.resume));
  const Numbers least = Count(run, done);
  const auto check = [this](const char* what, uint64_t says, uint64_t from,
                            uint64_t to) {
    if (says < from || says > to) Find("count", what, says, from);
  };
  check("{} events are said to be too old: there are {}", said.too_old,
        least.too_old, most.too_old);
  check("{} events are said to be on record: there are {}", said.left_out.sum(),
        least.left_out, most.left_out);
  if (run.order.is_dry_run) {
    check("{} events would be replayed: there are {}", said.events,
          least.events, most.events);
    check("{} events are said not to be deliverable: there are {}",
          said.undeliverable, least.undeliverable, most.undeliverable);
    return;
  }
  check("{} events are said to be replayed: {} are", said.events,
        run.acknowledged.size(), run.acknowledged.size());
  const uint64_t set_aside = run.letters.size() + run.skipped.size();
  check("{} events are said to be set aside: {} are", said.undeliverable,
        set_aside, set_aside);
}

// ---- Records.

void ReplayChecker::OnHandedOver(int number, uint64_t id, bool is_dead_letter) {
  const SimulatedEvent* event = server_.WithId(id);
  if (event == nullptr) return Find("P4", "event {} is of nobody", id);
  const Run& run = runs_[number];
  if (run.order.is_dry_run) Find("range", "event {} is sent in a dry run", id);
  const bool is_inside = !event->has_vanished && event->number >= run.begin &&
                         event->number < run.end;
  if (!is_inside) return Find("range", "event {} is not of the range", id);
  const Fate fate = FateOf(run, *event);
  if (fate == Fate::kTooOld) Find("range", "event {} is too old", id);
  if (fate == Fate::kOnRecord) Find("range", "event {} is on record", id);
  if (is_dead_letter && fate != Fate::kLetter) {
    Find("P8", "event {} is set aside", id);
  }
  if (run.acknowledged.contains(event->number) ||
      run.letters.contains(event->number)) {
    Find("P5", "event {} is sent again by a run that knew it acknowledged", id);
  }
  // What cannot be built stops the run at once.
  for (uint64_t before = run.begin; before < event->number; ++before) {
    const SimulatedEvent& passed = server_.Numbered(before);
    if (!HasIllegalTopic(passed.id)) continue;
    if (FateOf(run, passed) != Fate::kStops) continue;
    return Find("P8", "event {} went past event {}, which stops it", id,
                passed.id);
  }
}

void ReplayChecker::OnAcknowledged(int number, uint64_t id,
                                   bool is_dead_letter) {
  Run& run = runs_[number];
  const uint64_t event = server_.WithId(id)->number;
  (is_dead_letter ? run.letters : run.acknowledged).insert(event);
}

void ReplayChecker::OnWritten(int number, uint64_t producer, size_t partition,
                              uint64_t id, bool is_late) {
  world_.Note(number, is_late ? "event {} arrives late" : "event {} is written",
              id);
  const SimulatedEvent& event = *server_.WithId(id);
  Run& run = runs_[number];
  if (partition != PartitionOf(event.key)) {
    return Find("P3", "event {} comes to partition {}, where its key is not",
                id, partition);
  }
  CheckNoneIsPassed(run, event, run.written[partition]);
  run.written[partition] = std::max(run.written[partition], event.number + 1);
  const auto [found, is_first] =
      run.written_by.try_emplace({producer, partition}, event.number);
  if (event.number < found->second) {
    Find("P3", "event {} came again from one producer", id);
  }
  found->second = event.number + 1;
}

// Every event of the partition from `begin` on and before `event` needs no
// record.
void ReplayChecker::CheckNoneIsPassed(const Run& run,
                                      const SimulatedEvent& event,
                                      uint64_t begin) {
  for (uint64_t number = begin; number < event.number; ++number) {
    const SimulatedEvent& passed = server_.Numbered(number);
    if (PartitionOf(passed.key) != PartitionOf(event.key)) continue;
    const Fate fate = FateOf(run, passed);
    if (fate == Fate::kStops) {
      Find("P8", "event {} went past event {}, which stops it", event.id,
           passed.id);
    } else if (fate == Fate::kSent || fate == Fate::kLetter) {
      Find("P3", "event {} came before event {}", event.id, passed.id);
    }
  }
}

void ReplayChecker::OnPlace(uint64_t id, bool is_dead_letter, bool) {
  const bool is_bad = HasIllegalTopic(id) || IsTooLarge(id);
  if (is_dead_letter && !is_bad) {
    Find("P8", "event {} has a dead letter, and nothing is wrong with it", id);
  }
  if (!is_dead_letter && is_bad) {
    Find("P8", "event {} is in its topic, and should not be", id);
  }
}

}  // namespace walpost::sim
