#include "checkpoint/checkpoint.h"

#include <tuple>

namespace walpost {

// Events that commit before `confirmed` are skipped, so only a position at or
// after it counts.
bool Renumber(Checkpoint& checkpoint, uint64_t numbering) {
  if (checkpoint.numbering == numbering) return false;
  const bool in_the_middle =
      checkpoint.position.commit_lsn >= checkpoint.confirmed &&
      checkpoint.position.ordinal > 0;
  checkpoint.position = Position{checkpoint.confirmed, 0};
  checkpoint.commit_xid = Xid();
  checkpoint.commit_time = WallTime();
  checkpoint.horizon = XminHorizon();
  checkpoint.numbering = numbering;
  return in_the_middle;
}

bool IsLater(const Checkpoint& one, const Checkpoint& other) {
  if (one.system_identifier != other.system_identifier) return false;
  const auto reach = [](const Checkpoint& checkpoint) {
    return std::tuple(checkpoint.timeline, checkpoint.birth,
                      checkpoint.confirmed);
  };
  if (reach(one) != reach(other)) return reach(one) > reach(other);
  return one.numbering == other.numbering && one.position > other.position;
}

}  // namespace walpost
