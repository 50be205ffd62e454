#include "delivery/checkpoint.h"

namespace walpost {

// Whatever commits before `confirmed` is not asked for again, so only a
// position at or after it counts.
bool Renumber(Checkpoint& checkpoint, uint64_t numbering) {
  if (checkpoint.numbering == numbering) return false;
  const bool in_the_middle =
      checkpoint.position.commit_lsn >= checkpoint.confirmed &&
      checkpoint.position.ordinal > 0;
  checkpoint.position = Position();
  checkpoint.numbering = numbering;
  return in_the_middle;
}

}  // namespace walpost
