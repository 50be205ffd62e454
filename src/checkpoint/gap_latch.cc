#include "checkpoint/gap_latch.h"

#include "delivery/gap.h"

namespace walpost {

void GapLatch::Close(const Gap& gap) {
  if (!gap_) gap_ = gap;
}

bool GapLatch::Observe(std::optional<std::string_view> in_checkpoint,
                       std::optional<std::string_view> on_record) {
  const bool is_in_checkpoint = in_checkpoint && !in_checkpoint->empty();
  const bool is_on_record = on_record && !on_record->empty();
  if (is_in_checkpoint || is_on_record) {
    was_in_checkpoint_ |= is_in_checkpoint;
    was_on_record_ |= is_on_record;
    if (!gap_) gap_ = ParseGap(is_in_checkpoint ? *in_checkpoint : *on_record);
    return false;
  }
  const bool was_opened =
      (was_in_checkpoint_ && in_checkpoint) || (was_on_record_ && on_record);
  if (!gap_ || !was_opened) return false;
  *this = GapLatch();
  return true;
}

}  // namespace walpost
