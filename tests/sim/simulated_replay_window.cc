#include "sim/simulated_replay_window.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace walpost::sim {
namespace {

ReplayOptions DrawWindow(Random& random) {
  ReplayOptions options;
  options.window_bytes = random.Between(500, 20'000);
  if (random.OneIn(2)) {
    options.window_time = milliseconds(random.Between(100, 20'000));
  }
  return options;
}

}  // namespace

SimulatedReplayWindow::SimulatedReplayWindow(World& world,
                                             const SimulatedPostgres& server)
    : world_(world),
      server_(server),
      options_(DrawWindow(world.random)),
      budget_bytes_(world.random.OneIn(4) ? 2 * options_.window_bytes : 0),
      schedule_(options_) {}

bool SimulatedReplayWindow::MoveGuard() {
  GuardSchedule::Slots slots;
  slots.guard = guard_;
  slots.confirmed = server_.confirmed();
  slots.wal_end = server_.flushed();
  slots.budget_bytes = budget_bytes_;
  const std::optional<Lsn> to = schedule_.Next(slots, world_.now);
  if (!to) return false;
  world_.Note(kNobody, "the guard slot moves to {:X}", to->value());
  guard_ = *to;
  return true;
}

// A WAL budget goes before the window.
Lsn SimulatedReplayWindow::limit() const {
  const uint64_t confirmed = server_.confirmed().value();
  const uint64_t kept = budget_bytes_ > 0 ? 0 : options_.window_bytes;
  return Lsn(confirmed - std::min(confirmed, kept));
}

std::shared_ptr<SimulatedWalsender> SimulatedReplayWindow::Connect(
    Lsn from, OnTold on_told) {
  Disconnect();
  const auto stream = std::make_shared<Stream>(
      world_, server_, Copy(guard_, std::move(on_told)), from);
  stream->walsender.BeQuiet();
  active_ = {stream, &stream->walsender};
  return active_;
}

void SimulatedReplayWindow::Step() {
  if (active_ == nullptr) return;
  if (world_.random.OneIn(4)) {
    active_->Receive();
  } else {
    active_->Send();
  }
  if (active_->has_ended()) active_.reset();
}

void SimulatedReplayWindow::Disconnect() {
  if (active_ != nullptr) active_->Terminate();
  active_.reset();
}

void SimulatedReplayWindow::CutOff(bool cut) {
  if (active_ != nullptr) active_->CutOff(cut);
}

}  // namespace walpost::sim
