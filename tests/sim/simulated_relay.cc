#include "sim/simulated_relay.h"

namespace walpost::sim {
namespace {

// A drain, the closing of the producer, and until a deadline is noticed.
constexpr milliseconds kGrace{3000};

}  // namespace

// ---- Actions of the operator.

void SimulatedRelay::Start() {
  world_.Note(id_, "starts");
  process_ = std::make_unique<SimulatedProcess>(world_, server_, brokers_,
                                                checker_, id_, place_, parked_);
  checker_.OnProcessStart(id_);
  checker_.OnFreshStart(id_);
}

void SimulatedRelay::Kill() {
  if (!is_up()) return;
  world_.Note(id_, "is killed");
  is_suspended_ = false;
  process_.reset();
}

void SimulatedRelay::Shutdown() {
  if (!is_up() || is_suspended_) return;
  if (process_->session().shutdown_deadline()) return;
  world_.Note(id_, "shuts down");
  slept_ = {};
  process_->session().Shutdown(world_.now);
}

void SimulatedRelay::Suspend() {
  if (!is_up() || is_suspended_) return;
  world_.Note(id_, "is suspended");
  is_suspended_ = true;
  suspended_at_ = world_.now;
}

void SimulatedRelay::Resume() {
  if (!is_suspended_) return;
  world_.Note(id_, "is resumed");
  is_suspended_ = false;
  slept_ += world_.now - suspended_at_;
}

// ---- One step of each part.

void SimulatedRelay::Turn() {
  if (!is_up() || is_suspended_ || process_->Turn()) return;
  const auto& deadline = process_->session().shutdown_deadline();
  world_.Note(id_, deadline ? "ends" : "cannot begin");
  if (deadline) {
    checker_.OnCleanEnd(id_, world_.now - slept_ > *deadline + kGrace);
  }
  process_.reset();
}

void SimulatedRelay::Watch() {
  if (!is_up() || is_suspended_) return;
  if (ReachesBrokers()) brokers_seen_at_ = world_.now;
  process_->Watch(brokers_seen_at_);
}

void SimulatedRelay::Send() {
  if (ReachesBrokers()) process_->producer()->Send();
}

void SimulatedRelay::Report() {
  if (!ReachesBrokers()) return;
  process_->producer()->Report(*this);
  process_->producer()->AwaitCommit(process_->sender());
  process_->OnReports();
}

void SimulatedRelay::StepParking() {
  if (is_up() && !is_suspended_) process_->StepParking(*this);
}

// ---- Failures.

void SimulatedRelay::FailProducer() {
  if (is_suspended_ || !is_up() || process_->producer() == nullptr) return;
  world_.Note(id_, "has a fatal error of its producer");
  process_->producer()->Fail(*this);
}

void SimulatedRelay::LoseBrokers(milliseconds duration) {
  world_.Note(id_, "does not reach the brokers for {} ms",
              static_cast<uint64_t>(duration.count()));
  brokers_back_at_ = world_.now + duration;
}

void SimulatedRelay::LeaveStream() {
  if (is_suspended_ || !is_up() || !process_->is_streaming()) return;
  world_.Note(id_, "leaves the stream");
  process_->session().OnServerShutdown(world_.now);
}

// ---- Reports.

void SimulatedRelay::OnAcknowledged(Sequence sequence, WallTime now) {
  process_->sender().OnAcknowledged(sequence, now);
  process_->session().OnDelivered();
  process_->Observe();
}

void SimulatedRelay::OnNotDelivered(Sequence sequence,
                                    const absl::Status& error) {
  process_->sender().OnNotDelivered(sequence, error);
}

void SimulatedRelay::OnSinkFailed(const absl::Status& error) {
  process_->sender().OnSinkFailed(error);
}

bool SimulatedRelay::HasStopped() const {
  return is_up() && process_->sender().stoppage() &&
         process_->producer() != nullptr && process_->producer()->IsIdle();
}

}  // namespace walpost::sim
