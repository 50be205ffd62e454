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
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace walpost {

struct Gap {
  std::string code;  // a reason code (continuity.h)
  std::string text;  // the known details, and what to do

  friend bool operator==(const Gap&, const Gap&) = default;
};

// True if a reason code is that of a gap.
bool IsGap(std::string_view reason_code);

// The gap that a status reports; nullopt: none.
std::optional<Gap> GapOf(const absl::Status& status);
// kFailedPrecondition, with the reason code.
absl::Status StatusOfGap(const Gap& gap);

// Text for a checkpoint: the code, a space, the text.
std::string ToText(const Gap& gap);
// Parses the text of a checkpoint or a birth record; it may be the code alone.
std::optional<Gap> ParseGap(std::string_view text);

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
