#include "sim/simulated_replays.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/reason_code.h"
#include "outbox/event_digest.h"

namespace walpost::sim {
namespace {

constexpr const char* kSources[] = {"public.outbox", "outbox"};

// Some decisions on record are about events of another server, whose LSNs are
// others.
bool IsOfAnotherServer(uint64_t id) { return id % 3 == 0; }

// As the relays and the verb know an event: by its id.
std::string DigestOf(const SimulatedEvent& event) {
  const std::string id = "id-" + std::to_string(event.id);
  Event known;
  known.id = id;
  return EventDigest(kSources[event.is_message ? 1 : 0], known);
}

}  // namespace

SimulatedReplays::SimulatedReplays(World& world,
                                   const SimulatedPostgres& server,
                                   const SimulatedParkedTable& parked,
                                   const Options& options)
    : world_(world),
      server_(server),
      parked_(parked),
      options_(options),
      checker_(world, server, options.has_bad_events),
      brokers_(world, {options.late_arrivals, /*take_singly=*/false}, checker_),
      window_(world, server),
      place_{server, window_, brokers_, checker_,
             [this] { return ReadRecords(); }} {
  if (options_.has_bad_events) brokers_.HaveLimit();
}

void SimulatedReplays::Calm() {
  is_calm_ = true;
  is_through_ = false;
  brokers_back_at_ = {};
  window_.CutOff(false);
  next_.reset();
  if (replay_) replay_->Resume();
}

// ---- Steps.

void SimulatedReplays::Step() {
  const uint64_t draw = world_.random.Below(100);
  const Lsn slot = server_.confirmed();
  if (draw < 45) {
    Turn();
  } else if (draw < 78) {
    if (world_.now >= brokers_back_at_) StepBrokers();
  } else if (draw < 98) {
    window_.Step();
  } else if (!is_calm_) {
    Decide();
  }
  if (server_.confirmed() != slot) checker_.OnOtherSlotMoved();
}

void SimulatedReplays::StepBrokers() {
  const uint64_t draw = world_.random.Below(33);
  if (draw < 10) {
    if (replay_) replay_->Send();
  } else if (draw < 20) {
    if (replay_) replay_->Report();
  } else if (draw < 23) {
    if (replay_) replay_->Watch();
  } else {
    brokers_.WriteOne();
  }
}

void SimulatedReplays::Turn() {
  if (!replay_) {
    const bool is_due = is_calm_ ? !is_through_ : world_.random.OneIn(20);
    if (is_due && server_.confirmed().is_valid()) Start();
  } else if (replay_->is_suspended()) {
    if (world_.random.OneIn(40)) replay_->Resume();
  } else if (!replay_->Turn()) {
    OnEnd();
  }
}

// The operator runs what the verb has printed, or gives up.
void SimulatedReplays::OnEnd() {
  const ReplayFlow& flow = replay_->flow();
  const bool may_go_on =
      flow.is_open() && !flow.is_complete() && !world_.random.OneIn(4);
  is_through_ |= is_calm_ && flow.is_complete();
  next_.reset();
  if (may_go_on) {
    next_ = replay_->order();
    next_->request = ReplayRequest();
    next_->request.from = flow.resume();
    next_->request.to = flow.range().to;
  }
  replay_.reset();
}

void SimulatedReplays::Start() {
  ReplayChecker::Order order =
      next_ ? *std::exchange(next_, std::nullopt) : DrawOrder();
  if (is_calm_) {
    order.on_error = DrawActions();
    order.is_dry_run = false;
  }
  world_.Note(kFirstReplay + runs_, "starts a replay");
  replay_.emplace(world_, place_, std::move(order), kFirstReplay + runs_);
  ++runs_;
}

// ---- The operator.

ReplayChecker::Order SimulatedReplays::DrawOrder() {
  ReplayChecker::Order order;
  order.on_error = DrawActions();
  order.is_dry_run = !is_calm_ && world_.random.OneIn(10);
  if (!is_calm_) DrawRange(order);
  return order;
}

void SimulatedReplays::DrawRange(ReplayChecker::Order& order) {
  Random& random = world_.random;
  const auto& transactions = server_.transactions();
  if (random.OneIn(3) && !transactions.empty()) {
    const size_t which = random.Below(transactions.size());
    order.since = transactions[which].committed_at;
  } else {
    order.request.from = AnyLsn();
  }
  if (random.OneIn(2)) order.request.to = AnyLsn();
}

// Of a commit, or any, in the window or a little outside of it.
Lsn SimulatedReplays::AnyLsn() {
  const uint64_t from = window_.oldest().value() - 50;
  const uint64_t to = std::max(server_.confirmed().value(), from) + 50;
  const Lsn any(world_.random.Between(from, to));
  const size_t next = server_.FirstFrom(any);
  const bool is_boundary =
      world_.random.OneIn(2) && next < server_.transactions().size();
  return is_boundary ? server_.transactions()[next].commit_lsn : any;
}

ErrorActions SimulatedReplays::DrawActions() {
  constexpr ErrorAction kActions[] = {ErrorAction::kDeadLetter,
                                      ErrorAction::kSkip, ErrorAction::kStop};
  ErrorActions actions;
  for (const std::string_view code :
       {kReasonTopicIllegal, kReasonRecordTooLarge}) {
    // In the end nothing stops it.
    const size_t choices = is_calm_ ? 2 : 3;
    actions.Set(FindErrorClass(code), kActions[world_.random.Below(choices)]);
  }
  return actions;
}

void SimulatedReplays::Break() {
  if (!replay_) return;
  switch (world_.random.Below(10)) {
    case 9:
      world_.Note(kNobody, "the replay does not reach the brokers");
      brokers_back_at_ =
          world_.now + milliseconds(world_.random.Between(100, 20'000));
      return;
    case 0:
      world_.Note(kNobody, "the replay is killed");
      next_ = replay_->order();
      return replay_.reset();
    case 1:
      return replay_->Stop();
    case 2:
      return replay_->LeaveStream();
    case 3:
      return window_.Disconnect();
    case 4:
      return window_.CutOff(world_.random.OneIn(2));
    case 5:
    case 6:
      return replay_->FailSink();
    case 7:
      return replay_->GiveBrokersUp();
    default:
      world_.Note(kNobody, "the replay is suspended");
      return replay_->Suspend();
  }
}

// Also by whoever has the guard slot.
void SimulatedReplays::Decide() {
  if (world_.random.OneIn(2)) {
    if (!window_.MoveGuard()) return;
    return checker_.OnGuardMoved(window_.oldest(), window_.limit());
  }
  if (server_.event_count() == 0) return;
  const SimulatedEvent& event =
      server_.Numbered(world_.random.Below(server_.event_count()));
  if (SimulatedPostgres::HasIllegalTopic(event.id) ||
      SimulatedBrokers::IsTooLarge(event.id)) {
    retried_.insert(event.id);
  } else if (world_.random.OneIn(4)) {
    skipped_.insert(event.id);
  }
}

// ---- What is on record.

SimulatedRecords SimulatedReplays::ReadRecords() const {
  SimulatedRecords records{EventsOnRecord({kSources[0], kSources[1]}), {}};
  AddSkips(Decisions(), kSystemIdentifier, records.events);
  for (const uint64_t id : skipped_) {
    if (!IsOfAnotherServer(id)) records.ids.insert(id);
  }
  for (const auto& [position, row] : parked_.rows()) {
    const std::optional<Disposition> fate = DispositionOf(row.state);
    if (fate) records.events.Add({*fate, row.digest, position.commit_lsn});
    const bool is_in_kafka = row.state == ParkedState::kReleased ||
                             row.state == ParkedState::kLetterRetried;
    if (!is_in_kafka) records.ids.insert(row.event);
  }
  if (options_.has_letters) AddLetters(records);
  return records;
}

// The relays have set aside all that they have passed.
void SimulatedReplays::AddLetters(SimulatedRecords& records) const {
  for (const auto& transaction : server_.transactions()) {
    if (transaction.commit_lsn >= server_.confirmed()) break;
    for (size_t n = transaction.first_event; n < transaction.end_event; ++n) {
      const SimulatedEvent& event = server_.Numbered(n);
      const bool is_bad = SimulatedPostgres::HasIllegalTopic(event.id) ||
                          SimulatedBrokers::IsTooLarge(event.id);
      if (!is_bad || retried_.contains(event.id)) continue;
      records.events.Add(
          {Disposition::kDeadLetter, DigestOf(event), transaction.commit_lsn});
      records.ids.insert(event.id);
    }
  }
}

std::vector<EventDecision> SimulatedReplays::Decisions() const {
  std::vector<EventDecision> decisions;
  for (const auto& transaction : server_.transactions()) {
    for (size_t n = transaction.first_event; n < transaction.end_event; ++n) {
      const SimulatedEvent& event = server_.Numbered(n);
      if (!skipped_.contains(event.id)) continue;
      EventDecision decision;
      decision.system_identifier =
          IsOfAnotherServer(event.id) ? "another" : kSystemIdentifier;
      decision.position = {transaction.commit_lsn, n};
      decision.digest = DigestOf(event);
      decisions.push_back(std::move(decision));
    }
  }
  return decisions;
}

}  // namespace walpost::sim
