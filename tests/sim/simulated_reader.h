// SimulatedReader: what ReplicationReader does, a step at a time. Anything may
// happen between two.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "session/wal_stream.h"
#include "sim/simulated_connection.h"
#include "sim/simulated_walsender.h"
#include "sim/world.h"

namespace walpost::sim {

// The simulated machine is never suspended as a whole.
inline BootTime BootTimeOf(MonotonicTime time) {
  return BootTime(time.time_since_epoch());
}

class SimulatedReader {
 public:
  // `stream` outlives this object. `on_turn` is called when a turn begins.
  SimulatedReader(World& world, WalStream& stream, int actor,
                  std::function<void()> on_turn)
      : world_(world),
        stream_(stream),
        actor_(actor),
        on_turn_(std::move(on_turn)) {}
  ~SimulatedReader() { Close(); }
  SimulatedReader(const SimulatedReader&) = delete;
  SimulatedReader& operator=(const SimulatedReader&) = delete;

  void Begin(std::shared_ptr<SimulatedWalsender> walsender,
             WalStream::Start start);
  // The end of the stream, once it has come; then call Close.
  std::optional<absl::Status> Step();
  void Close();

  // nullptr: there is no connection.
  const SimulatedWalsender* walsender() const {
    return connection_ ? connection_->walsender() : nullptr;
  }

 private:
  // The steps of a turn.
  enum class At { kCheck, kTake, kTell, kWait };

  bool MayContinue() const;

  World& world_;
  WalStream& stream_;
  int actor_;
  std::function<void()> on_turn_;
  std::optional<SimulatedConnection> connection_;
  At at_ = At::kCheck;
  WalStream::Next next_ = WalStream::Next::kMore;
  MonotonicTime waits_until_{};
};

}  // namespace walpost::sim
