#include "sim/backfill_simulation.h"

#include <algorithm>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost::sim {
namespace {

constexpr uint64_t kMaxCalmSteps = 100'000;
constexpr uint64_t kMaxRows = 120;

}  // namespace

BackfillSimulation::Kind BackfillSimulation::Draw(Random& random) {
  constexpr ErrorAction kActions[] = {
      ErrorAction::kStop, ErrorAction::kDeadLetter, ErrorAction::kSkip};
  Kind kind;
  kind.instances = random.Between(1, kInstances);
  kind.has_transactions = random.OneIn(2);
  kind.has_bad_rows = random.OneIn(2);
  kind.pauses = random.OneIn(3);
  kind.drops_slot = random.OneIn(4);
  for (const std::string_view code :
       {kReasonTopicIllegal, kReasonRecordTooLarge}) {
    kind.on_error.Set(FindErrorClass(code), kActions[random.Below(3)]);
  }
  return kind;
}

BackfillSimulation::BackfillSimulation(uint64_t seed)
    : seed_(seed),
      world_(seed),
      kind_(Draw(world_.random)),
      table_(world_, kind_.has_bad_rows),
      brokers_(world_, table_, kind_.has_transactions, kind_.on_error) {}

bool BackfillSimulation::Run(uint64_t steps) {
  while (world_.step < steps && !finding()) Step();
  is_calm_ = true;
  is_paused_ = false;
  const uint64_t limit = world_.step + kMaxCalmSteps;
  while (!finding() && !IsThrough()) {
    if (world_.step == limit) brokers_.OnHang();
    Step();
  }
  return !finding();
}

void BackfillSimulation::Start(size_t instance) {
  world_.Note(static_cast<int>(instance), "starts");
  instances_[instance].emplace(world_, table_, brokers_, kind_.on_error,
                               static_cast<int>(instance));
}

void BackfillSimulation::Step() {
  ++world_.step;
  world_.now += milliseconds(world_.random.Below(10));
  const uint64_t draw = world_.random.Below(1'000);
  const size_t number = world_.random.Below(kind_.instances);
  std::optional<SimulatedBackfill>& instance = instances_[number];
  if (!instance || instance->has_ended()) {
    if (is_calm_ || world_.random.OneIn(10)) Start(number);
  } else if (draw < 500) {
    instance->Turn(!is_paused_);
  } else if (draw < 700) {
    instance->Report();
  } else if (draw < 920) {
    brokers_.Step();
  } else if (draw < 990) {
    Operate();
  } else if (!is_calm_) {
    Break(number);
  }
}

// Writers, and operators.
void BackfillSimulation::Operate() {
  const bool is_stuck = std::ranges::any_of(
      instances_, [](const auto& one) { return one && one->is_stuck(); });
  if (is_stuck) {
    // walpost init puts it on record.
    if (table_.slot().number != 0) table_.slot().has_birth = true;
    table_.Correct(kind_.has_transactions);
  }
  if (is_calm_) return;
  if (table_.rows().size() < kMaxRows) table_.Insert();
  if (kind_.pauses && world_.random.OneIn(8)) is_paused_ = !is_paused_;
  if (kind_.drops_slot && world_.random.OneIn(60) &&
      !table_.slot().was_streamed && !table_.slot().all_published) {
    table_.DropSlot();
  }
}

void BackfillSimulation::Break(size_t instance) {
  switch (world_.random.Below(7)) {
    case 0:
      world_.Note(static_cast<int>(instance), "is killed");
      return instances_[instance].reset();
    case 1:
      return instances_[instance]->Stop();
    case 2:
    case 3:
      return instances_[instance]->LoseSession();
    case 4:
    case 5:
      return instances_[instance]->FailSink();
    default:
      return;  // a quiet moment
  }
}

bool BackfillSimulation::IsThrough() const {
  return std::ranges::any_of(
      instances_, [](const auto& one) { return one && one->is_through(); });
}

std::string BackfillSimulation::Report() const {
  const std::string found =
      finding() ? fmt::format("{}: {}", finding()->promise, finding()->text)
                : "no finding";
  return fmt::format(
      "{}\n  at step {} of {}\n  {} instances, {}transactions, {}bad rows, "
      "{}pauses, the slot is {}dropped\n{}",
      found, world_.step, testing::ReplayWith(seed_), kind_.instances,
      kind_.has_transactions ? "" : "no ", kind_.has_bad_rows ? "" : "no ",
      kind_.pauses ? "" : "no ", kind_.drops_slot ? "" : "not ",
      world_.trace.text());
}

}  // namespace walpost::sim
