#include "sim/simulation.h"

#include "checkpoint/coverage.h"
#include "checkpoint/settled_table.h"
#include "fmt/format.h"

namespace walpost::sim {
namespace {

// Maximum unacknowledged events before the database rests.
constexpr uint64_t kMaxBacklog = 150;
// A relay that lags behind a snapshot does not miss what it has not reached.
constexpr uint64_t kMaxBacklogOfRestored = 20;
constexpr uint64_t kMaxCalmSteps = 400'000;

// The kinds of history that a replay can be beside.
constexpr Trouble kBesideReplays[] = {Trouble::kNone, Trouble::kDeadLetters,
                                      Trouble::kParking, Trouble::kLetters,
                                      Trouble::kTransactions};

bool HasParking(Trouble trouble) {
  return trouble == Trouble::kParking || trouble == Trouble::kIsolation ||
         trouble == Trouble::kLetters;
}

}  // namespace

Simulation::Kind Simulation::Draw(Random& random, Trouble trouble) {
  Kind kind;
  kind.has_replays = trouble == Trouble::kReplays;
  if (kind.has_replays) {
    trouble = kBesideReplays[random.Below(std::size(kBesideReplays))];
  }
  kind.relays = random.OneIn(2) ? 1 : kMaxRelays;
  kind.late_arrivals = kind.relays > 1 || random.OneIn(2);
  kind.restores = trouble == Trouble::kRestored;
  kind.flaps = trouble == Trouble::kUncovered;
  // A standby may lack parked events (docs/dead-letters.md).
  kind.promotions = !kind.restores && !kind.has_replays &&
                    !HasParking(trouble) && trouble != Trouble::kLateTable &&
                    random.OneIn(2);
  kind.awaits_standby = random.OneIn(2);
  kind.slot_may_go_back = random.OneIn(2);
  kind.takes_singly = trouble == Trouble::kSingly;
  kind.has_transactions =
      !kind.takes_singly &&
      (trouble == Trouble::kTransactions || random.OneIn(3));
  kind.has_store = kind.has_transactions || random.OneIn(2);
  kind.trouble = trouble;
  const bool is_stopped = trouble == Trouble::kUndeliverable ||
                          trouble == Trouble::kRefused ||
                          (kind.takes_singly && random.OneIn(4));
  if (is_stopped) kind.bad_event = random.Between(5, 150);
  return kind;
}

Checker::Options Simulation::CheckerOptions(const Kind& kind) {
  Checker::Options options;
  // A promotion may move the slot forward, over positions lost in a crash.
  // After these, an operator or the fork of the WAL decides where it continues.
  const bool loses_nothing = !kind.promotions || kind.awaits_standby;
  options.is_exactly_once = kind.has_transactions && loses_nothing &&
                            !kind.restores && !kind.flaps &&
                            kind.trouble != Trouble::kLateTable;
  // A re-send under another numbering ends where the next process has the old
  // one again.
  options.strict_order = !kind.late_arrivals && !kind.promotions &&
                         !kind.restores && !HasParking(kind.trouble) &&
                         kind.trouble != Trouble::kLateTable;
  options.phantoms = kind.restores || (kind.promotions && !kind.awaits_standby);
  options.has_gaps =
      kind.restores || kind.flaps || kind.trouble == Trouble::kLateTable;
  options.bad_event = kind.bad_event;
  options.has_parking = HasParking(kind.trouble);
  options.order_is_of_keys = options.has_parking || kind.takes_singly;
  options.has_stored_letters = kind.trouble == Trouble::kLetters;
  options.has_dead_letters = options.has_parking ||
                             kind.trouble == Trouble::kDeadLetters ||
                             kind.trouble == Trouble::kSingly;
  options.bad_event_is_undeliverable = kind.trouble == Trouble::kUndeliverable;
  return options;
}

Simulation::Simulation(uint64_t seed, Trouble trouble)
    : seed_(seed),
      world_(seed),
      kind_(Draw(world_.random, trouble)),
      postgres_(world_, {kind_.awaits_standby, kind_.slot_may_go_back,
                         kind_.trouble == Trouble::kLateTable}),
      checker_(world_, postgres_, CheckerOptions(kind_)),
      server_(world_, postgres_, checker_),
      brokers_(world_, {kind_.late_arrivals, kind_.takes_singly}, checker_),
      pruner_(world_, postgres_, checker_),
      parked_(world_, checker_) {
  if (kind_.trouble == Trouble::kUndeliverable) {
    postgres_.Poison(kind_.bad_event);
  }
  if (kind_.trouble == Trouble::kRefused || kind_.takes_singly) {
    brokers_.Refuse(kind_.bad_event);
  }
  parked_.is_used = HasParking(kind_.trouble);
  parked_.has_topics = kind_.trouble == Trouble::kIsolation;
  parked_.has_letters = kind_.trouble == Trouble::kLetters;
  if (kind_.trouble == Trouble::kDeadLetters ||
      kind_.trouble == Trouble::kSingly || parked_.is_used) {
    postgres_.HaveIllegalTopics();
    brokers_.HaveLimit();
  }
  place_.is_used = kind_.has_store;
  brokers_.coordinator().is_used = kind_.has_transactions;
  for (int i = 0; i < kind_.relays; ++i) {
    relays_[static_cast<size_t>(i)].emplace(world_, server_, brokers_, checker_,
                                            place_, parked_, i);
  }
  if (kind_.has_replays) BeginReplays();
}

void Simulation::BeginReplays() {
  SimulatedReplays::Options options;
  options.has_letters = kind_.trouble == Trouble::kDeadLetters;
  options.has_bad_events = options.has_letters || parked_.is_used;
  options.late_arrivals = world_.random.OneIn(2);
  replays_.emplace(world_, postgres_, parked_, options);
}

bool Simulation::Run(uint64_t steps) {
  while (world_.step < steps && !finding()) Step();
  if (!finding()) Calm();
  const uint64_t limit = world_.step + kMaxCalmSteps;
  while (!finding() && !IsThrough()) {
    if (world_.step == limit) OnHang();
    Step();
  }
  bool stopped = false;
  for (const auto& relay : relays_) {
    if (relay && relay->HasStopped()) stopped = true;
  }
  checker_.OnEnd(stopped);
  return !finding();
}

void Simulation::OnHang() {
  if (replays_ && checker_.IsAllAcknowledged()) {
    replays_->OnHang();
  } else {
    checker_.OnHang();
  }
}

SimulatedRelay& Simulation::AnyRelay() {
  const uint64_t count = static_cast<uint64_t>(kind_.relays);
  return *relays_[world_.random.Below(count)];
}

void Simulation::Step() {
  ++world_.step;
  world_.now += milliseconds(world_.random.Below(10));
  if (replays_ && world_.random.OneIn(2)) return replays_->Step();
  const uint64_t draw = world_.random.Below(1'000);
  if (draw < 600) {
    StepRelay(AnyRelay());
  } else if (draw < 740) {
    brokers_.WriteOne();
  } else if (draw < 920) {
    StepServer();
  } else if (draw < 994) {
    StepDatabase();
  } else if (!is_calm_) {
    Break(AnyRelay());
  }
}

void Simulation::StepRelay(SimulatedRelay& relay) {
  if (parked_.is_used && world_.random.OneIn(8)) return relay.StepParking();
  const uint64_t draw = world_.random.Below(100);
  if (draw < 55) {
    relay.Turn();
  } else if (draw < 75) {
    relay.Send();
  } else if (draw < 95) {
    relay.Report();
  } else if (draw < 98) {
    relay.Watch();
  } else {
    StartWhatIsDown(relay);
  }
}

// The operator, or a service manager.
void Simulation::StartWhatIsDown(SimulatedRelay& relay) {
  if (relay.is_stuck() && (is_calm_ || world_.random.OneIn(8))) {
    if (world_.random.OneIn(2)) EndGap();
    if (world_.random.OneIn(2)) relay.Kill();
  }
  if (!relay.is_up()) relay.Start();
  if (relay.is_suspended() && (is_calm_ || world_.random.OneIn(4))) {
    relay.Resume();
  }
}

void Simulation::StepServer() {
  if (world_.random.OneIn(4)) return server_.Receive();
  for (uint64_t n = world_.random.Between(1, 4); n > 0; --n) server_.Send();
}

// Whoever resolves a gap has checked what is missing, and publishes it, or
// continues without it. Then older rows prove nothing any more.
void Simulation::EndGap() {
  if (postgres_.has_orders()) SettleOrders();
  std::optional<BirthRecord> record = postgres_.catalog().record();
  if (!record || record->gap.empty() || !postgres_.catalog().covers()) return;
  world_.Note(kNobody, "an operator ends a gap");
  if (world_.random.OneIn(2)) {
    postgres_.PublishWithheld();
  } else {
    postgres_.GiveUpWithheld();
    record->streamed_from = postgres_.next_xid();
  }
  record->gap.clear();
  record->coverage = postgres_.catalog().coverage();
  postgres_.SetRecord(*record);
  if (place_.stored) {
    CheckpointScope begin;
    begin.system_identifier = record->system_identifier;
    begin.timeline = record->timeline;
    begin.slot = kSlotName;
    begin.birth = postgres_.confirmed();
    begin.coverage = record->coverage;
    place_.stored = BeginAtBirth(begin);
  }
  checker_.OnGapsEnded();
}

// Like walpost replay --missing, which refuses if a walpost has the slot.
void Simulation::SettleOrders() {
  if (server_.active() != nullptr) return;
  world_.Note(kNobody, "an operator publishes what was passed over");
  const Coverage coverage = Coverage::Parse(
      postgres_.catalog().coverage(SimulatedCatalog::Tables::kOutboxAndOrders));
  const SettledTable settled{coverage.tables.back(), postgres_.next_xid(),
                             WallTime(), postgres_.confirmed()};
  std::optional<BirthRecord> record = postgres_.catalog().record();
  if (record) postgres_.SetRecord(Settle(*record, settled));
  if (place_.stored) {
    place_.stored->coverage = Settle(place_.stored->coverage, settled);
  }
  checker_.OnOrdersSettled(postgres_.flushed());
}

uint64_t Simulation::most_backlog() const {
  return kind_.restores ? kMaxBacklogOfRestored : kMaxBacklog;
}

void Simulation::StepDatabase() {
  switch (world_.random.Below(9)) {
    case 8:
      return pruner_.Step();
    case 0:
      return postgres_.Flush();
    case 1:
      return postgres_.Replicate();
    case 2:
      return postgres_.SynchroniseSlot();
    case 3:
      return postgres_.WriteElsewhere();
    case 4:
      if (world_.random.OneIn(20)) postgres_.StoreSlot();
      if (kind_.flaps && !is_calm_ && world_.random.OneIn(8)) Flap();
      if (parked_.is_used && world_.random.OneIn(2)) parked_.Decide();
      if (kind_.trouble == Trouble::kIsolation && !is_calm_) TurnTopic();
      if (kind_.trouble == Trouble::kPaused && !is_calm_) TurnPause();
      return;
    default:
      if (is_calm_ || checker_.backlog() > most_backlog()) return;
      return postgres_.Commit();
  }
}

void Simulation::Break(SimulatedRelay& relay) {
  pruner_.Abandon();
  if (replays_ && world_.random.OneIn(2)) return replays_->Break();
  switch (world_.random.Below(22)) {
    case 0:
      return relay.Kill();
    case 1:
      return relay.Shutdown();
    case 2:
      if (replays_) replays_->Disconnect();
      return server_.Crash();
    case 3:
      if (kind_.promotions) server_.Promote();
      return;
    case 4:
    case 5:
      return CutOff();
    case 6:
      return relay.LeaveStream();
    case 7:
    case 8:
    case 9:
      return relay.FailProducer();
    case 10:
    case 11:
    case 12:
      return relay.Suspend();
    case 13:
      return server_.Disconnect();
    case 14:
    case 15:
      return relay.LoseBrokers(milliseconds(world_.random.Between(100, 8000)));
    case 21:
      return brokers_.TimeOutTransactions();
    case 20:
      world_.Note(kNobody, "the stream is damaged");
      world_.damaged_until =
          world_.now + milliseconds(world_.random.Between(1, 4000));
      return;
    case 16:
    case 17:
    case 18:
    case 19:
      return SaveOrRestore();
    default:
      return;  // a quiet moment
  }
}

// The writers may be back long before the relay, and carry the server past
// everything that it knows.
void Simulation::SaveOrRestore() {
  if (!kind_.restores) return;
  if (world_.random.OneIn(2)) return postgres_.TakeSnapshot();
  if (!server_.Restore()) return;
  while (!world_.random.OneIn(20)) postgres_.Commit();
  if (world_.random.OneIn(2)) postgres_.Flush();
}

// Usually only for a moment, in which nobody looks.
void Simulation::Flap() {
  // Nothing is known of the time before the first start.
  if (!postgres_.catalog().record()) return;
  if (!postgres_.catalog().covers()) {
    world_.Note(kNobody, "the outbox is back in the publication");
    return postgres_.PutBack();
  }
  world_.Note(kNobody, "the outbox is taken out of the publication");
  postgres_.TakeOut();
  while (!world_.random.OneIn(4)) pruner_.Step();
  if (world_.random.OneIn(4)) return;
  while (!world_.random.OneIn(3)) postgres_.Commit();
  postgres_.PutBack();
}

void Simulation::TurnTopic() {
  if (!world_.random.OneIn(4)) return;
  const bool is_down = !brokers_.topic_is_down();
  world_.Note(kNobody, is_down ? "a topic is down" : "the topic is back");
  brokers_.SetTopicDown(is_down);
}

void Simulation::TurnPause() {
  if (!world_.random.OneIn(3)) return;
  PauseRecord record;
  const std::optional<PauseRecord> before = postgres_.catalog().pause();
  record.is_paused = !before || !before->is_paused;
  record.by = "somebody";
  world_.Note(kNobody, record.is_paused ? "an operator pauses the slot"
                                        : "an operator resumes the slot");
  postgres_.SetPause(record);
}

void Simulation::CutOff() {
  world_.Note(kNobody, "the network fails, or heals");
  server_.CutOff(world_.random.OneIn(2));
}

void Simulation::Calm() {
  world_.Note(kNobody, "from here on nothing breaks");
  is_calm_ = true;
  world_.damaged_until = {};
  server_.CutOff(false);
  brokers_.SetTopicDown(false);
  for (auto& relay : relays_) {
    if (relay) relay->LoseBrokers(milliseconds(0));
  }
  if (replays_) replays_->Calm();
  if (!postgres_.catalog().covers()) postgres_.PutBack();
  if (kind_.trouble == Trouble::kPaused) {
    PauseRecord resumed;
    resumed.by = "somebody";
    postgres_.SetPause(resumed);
  }
  postgres_.Flush();
}

// All events are in Kafka and the slot has confirmed them; or the flow stands
// before the event that stops it.
bool Simulation::IsThrough() {
  if (world_.step % 64 != 0 || !brokers_.IsIdle()) return false;
  if (!checker_.IsAllAcknowledged()) return false;
  if (!parked_.IsDrained()) return false;
  for (const auto& relay : relays_) {
    if (relay && relay->HoldsLanes()) return false;
  }
  if (postgres_.withheld_count() > 0) return false;
  if (replays_ && !replays_->IsThrough()) return false;
  if (kind_.bad_event < postgres_.event_count()) {
    for (const auto& relay : relays_) {
      if (relay && relay->HasStopped()) return true;
    }
    return false;
  }
  return postgres_.confirmed() >= postgres_.last_end();
}

std::string Simulation::Report() const {
  const std::string found =
      finding() ? fmt::format("{}: {}", finding()->promise, finding()->text)
                : "no finding";
  return fmt::format(
      "{}\n  at step {} of {}\n  {} relays, {}late arrivals, {}promotions{}, "
      "{}restores, {}flaps, "
      "{} store, {}transactions, slot {} go back, bad event {}\n{}",
      found, world_.step, testing::ReplayWith(seed_), kind_.relays,
      kind_.late_arrivals ? "" : "no ", kind_.promotions ? "" : "no ",
      kind_.awaits_standby ? "" : " without synchronized_standby_slots",
      kind_.restores ? "" : "no ", kind_.flaps ? "" : "no ",
      kind_.has_store ? "a" : "no", kind_.has_transactions ? "" : "no ",
      kind_.slot_may_go_back ? "may" : "does not",
      kind_.bad_event == UINT64_MAX ? -1
                                    : static_cast<int64_t>(kind_.bad_event),
      world_.trace.text());
}

}  // namespace walpost::sim
