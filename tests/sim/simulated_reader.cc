#include "sim/simulated_reader.h"

namespace walpost::sim {

void SimulatedReader::Begin(std::shared_ptr<SimulatedWalsender> walsender,
                            WalStream::Start start) {
  connection_.emplace(world_, std::move(walsender));
  stream_.Begin(std::move(start), world_.now, BootTimeOf(world_.now));
  at_ = At::kCheck;
}

std::optional<absl::Status> SimulatedReader::Step() {
  absl::Status status;
  bool is_over = stream_.is_abandoned();
  switch (is_over ? At::kWait : at_) {
    case At::kCheck:
      status = stream_.Check(world_.now, BootTimeOf(world_.now));
      if (absl::IsAborted(status)) {
        world_.Note(actor_, "sees that it was suspended");
      }
      if (!status.ok()) break;
      on_turn_();
      at_ = At::kTake;
      break;
    case At::kTake: {
      connection_->BeginTurn();
      const auto next = stream_.TakeFrames(*connection_);
      status = next.status();
      if (next.ok()) next_ = *next;
      is_over = next_ == WalStream::Next::kEnd;
      at_ = At::kTell;
      break;
    }
    case At::kTell:
      is_over = stream_.DrainIsOver(world_.now);
      status = is_over ? stream_.TellLast(*connection_)
                       : stream_.SendStatusIfDue(*connection_);
      if (is_over) status = connection_->Flush();
      waits_until_ = stream_.WaitUntil(next_, world_.now);
      at_ = At::kWait;
      break;
    case At::kWait:
      stream_.OnProgress(world_.now);
      if (MayContinue()) at_ = At::kCheck;
      break;
  }
  if (status.ok() && !is_over) return std::nullopt;
  return status;
}

bool SimulatedReader::MayContinue() const {
  return next_ == WalStream::Next::kMore || world_.now >= waits_until_ ||
         stream_.MustWake() ||
         (next_ == WalStream::Next::kReadable && connection_->IsReadable()) ||
         connection_->has_unsent();
}

void SimulatedReader::Close() {
  if (stream_.is_open()) stream_.End();
  connection_.reset();
}

}  // namespace walpost::sim
