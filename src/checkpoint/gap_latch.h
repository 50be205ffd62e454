// GapLatch: a reported gap stays reported until an operator acts (P9).
//
// It is kept in up to three places: in this process; in the checkpoint, if
// there is a store; in the birth record, if our role may write it. A restart
// keeps the last two. `walpost recover` removes it from both; this is how a
// running process learns that an operator has acted.
//
// Owned by the SourceSetup. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "delivery/gap.h"

namespace walpost {

class GapLatch {
 public:
  // The first gap counts.
  void Close(const Gap& gap);

  // Takes the gap in the checkpoint and in the birth record, before each
  // session; nullopt: no checkpoint or record, which says nothing. True if an
  // operator has opened the latch since: all earlier knowledge is void.
  bool Observe(std::optional<std::string_view> in_checkpoint,
               std::optional<std::string_view> on_record);

  const std::optional<Gap>& gap() const { return gap_; }

 private:
  std::optional<Gap> gap_;
  bool was_in_checkpoint_ = false;
  bool was_on_record_ = false;
};

}  // namespace walpost
