// SimulatedConnection: the relay's end of a SimulatedWalsender, as frames.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/frame_source.h"
#include "sim/simulated_walsender.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedConnection final : public FrameSource {
 public:
  SimulatedConnection(World& world,
                      std::shared_ptr<SimulatedWalsender> walsender)
      : world_(world), walsender_(std::move(walsender)) {}
  ~SimulatedConnection() override { walsender_->Close(); }
  SimulatedConnection(const SimulatedConnection&) = delete;
  SimulatedConnection& operator=(const SimulatedConnection&) = delete;

  // A turn of the stream begins: it finds a few frames.
  void BeginTurn() { left_ = world_.random.Between(1, kMaxFramesPerTurn); }
  // True if a turn would find something.
  bool IsReadable() const {
    return walsender_->HasFrames() || walsender_->IsAtEnd();
  }
  const SimulatedWalsender* walsender() const { return walsender_.get(); }

  Read NextFrame() override;
  std::string_view frame() const override { return frame_; }
  bool Receive() override { return true; }
  bool HasInput() const override { return world_.random.OneIn(4); }
  std::vector<ServerWarning> TakeWarnings() override;
  const absl::Status& status() const override { return status_; }
  absl::Status SendStatus(const StatusUpdate& update) override;
  bool has_unsent() const override { return unsent_.has_value(); }
  absl::Status Flush() override;
  MonotonicTime Now() const override { return world_.now; }

 private:
  static constexpr uint64_t kMaxFramesPerTurn = 6;

  World& world_;
  std::shared_ptr<SimulatedWalsender> walsender_;  // both ends hold it
  uint64_t left_ = 0;
  std::string frame_;
  std::optional<StatusUpdate> unsent_;
  absl::Status status_;
};

}  // namespace walpost::sim
