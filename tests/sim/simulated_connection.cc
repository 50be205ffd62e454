#include "sim/simulated_connection.h"

#include "support/message_bytes.h"

namespace walpost::sim {
namespace {

std::string BytesOf(const SimulatedWalsender::Frame& frame) {
  if (const auto* message = std::get_if<std::string>(&frame)) {
    return testing::XLogDataFrame(Lsn(), 0, *message);
  }
  const auto& keepalive = std::get<SimulatedWalsender::Keepalive>(frame);
  return testing::KeepaliveFrame(keepalive.wal_end, 0,
                                 keepalive.reply_requested);
}

}  // namespace

FrameSource::Read SimulatedConnection::NextFrame() {
  if (left_ == 0) return Read::kEmpty;
  const std::optional<SimulatedWalsender::Frame> frame = walsender_->Read();
  if (frame) {
    --left_;
    frame_ = world_.now < world_.damaged_until ? "?" : BytesOf(*frame);
    return Read::kFrame;
  }
  left_ = 0;
  const bool is_lost = walsender_->IsAtEnd() ||
                       (walsender_->is_cut() && world_.random.OneIn(100));
  if (!is_lost) return Read::kEmpty;
  if (world_.random.OneIn(2)) {
    status_ = absl::UnavailableError("the connection is lost");
  }
  return Read::kEnded;
}

// A server that waits for its standbys says so again and again.
std::vector<ServerWarning> SimulatedConnection::TakeWarnings() {
  if (!world_.random.OneIn(200)) return {};
  return {{"synchronized_standby_slots", /*rows_are_missing=*/false}};
}

absl::Status SimulatedConnection::SendStatus(const StatusUpdate& update) {
  unsent_ = update;
  return world_.random.OneIn(8) ? absl::OkStatus() : Flush();
}

absl::Status SimulatedConnection::Flush() {
  if (unsent_) walsender_->SendStatus(*unsent_);
  unsent_.reset();
  return absl::OkStatus();
}

}  // namespace walpost::sim
