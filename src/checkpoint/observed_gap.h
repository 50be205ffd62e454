// ObservedGap: the gap that looks beside the stream show
// (ContinuityState::VisibleGap).
//
// A look is several statements, and a slot may be made between two of them, by
// this instance or another one; its record comes first. So a gap counts once
// two looks in a row have shown it. Pure.
#pragma once

#include <optional>
#include <utility>

#include "delivery/gap.h"

namespace walpost {

class ObservedGap {
 public:
  void Look(std::optional<Gap> seen) {
    const bool is_same = seen && last_ && seen->code == last_->code;
    gap_ = is_same ? seen : std::nullopt;
    last_ = std::move(seen);
  }
  const std::optional<Gap>& gap() const { return gap_; }

 private:
  std::optional<Gap> last_;
  std::optional<Gap> gap_;
};

}  // namespace walpost
