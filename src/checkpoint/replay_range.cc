#include "checkpoint/replay_range.h"

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

absl::Status CheckCheckpoint(const Checkpoint& checkpoint,
                             const ReplayServer& server) {
  if (checkpoint.system_identifier != server.system_identifier ||
      checkpoint.slot != server.slot) {
    return absl::FailedPreconditionError(fmt::format(
        "the checkpoint is of slot {} of system {}, not of slot {} of system "
        "{}: its LSN means nothing here",
        checkpoint.slot, checkpoint.system_identifier, server.slot,
        server.system_identifier));
  }
  if (checkpoint.timeline != server.timeline) {
    return absl::FailedPreconditionError(fmt::format(
        "the checkpoint is of timeline {}, the server is on {}: where they "
        "part, LSNs change their meaning; give one with --from-lsn",
        checkpoint.timeline, server.timeline));
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const ReplayRange& range, const ReplayServer& server) {
  if (range.from < server.oldest) {
    return absl::FailedPreconditionError(fmt::format(
        "the WAL at {} was removed: the oldest LSN that is left to replay from "
        "is {} (replay.window); {}",
        range.from.ToString(), server.oldest.ToString(), kReplayFromTable));
  }
  if (range.to > server.confirmed) {
    return absl::InvalidArgumentError(fmt::format(
        "--to-lsn {}: slot {} is confirmed up to {}, and what comes after that "
        "is for the live flow to publish first",
        range.to.ToString(), server.slot, server.confirmed.ToString()));
  }
  if (range.from > range.to) {
    return absl::InvalidArgumentError(
        fmt::format("there is nothing to replay: {} is not before {}",
                    range.from.ToString(), range.to.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReplayRange> ChooseReplayRange(const ReplayRequest& request,
                                              const ReplayServer& server) {
  ReplayRange range{request.from, request.to, server.since, server.timeline};
  if (request.checkpoint) {
    WALPOST_RETURN_IF_ERROR(CheckCheckpoint(*request.checkpoint, server));
    range.from = request.checkpoint->confirmed;
  }
  if (!range.from.is_valid()) range.from = server.oldest;
  if (!range.to.is_valid()) range.to = server.confirmed;
  WALPOST_RETURN_IF_ERROR(CheckRange(range, server));
  return range;
}

}  // namespace walpost
