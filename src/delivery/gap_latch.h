// GapLatch: a gap that was named stays named until an operator acts (P9).
//
// It is kept in up to three places: in this process; in the checkpoint, where
// there is a store; in the birth record, where our role may write it. A restart
// keeps the last two. `walpost recover` takes it out of both, and that is how a
// process that still runs learns that an operator has acted.
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
  std::string text;  // what is known, and what to do

  friend bool operator==(const Gap&, const Gap&) = default;
};

// Whether a reason code is that of a gap.
bool IsGap(std::string_view reason_code);

// The gap that a status tells of; nullopt: of none.
std::optional<Gap> GapOf(const absl::Status& status);
// kFailedPrecondition, with the reason code.
absl::Status StatusOfGap(const Gap& gap);

// As a checkpoint keeps it: the code, a space, the text.
std::string ToText(const Gap& gap);
// Of what a checkpoint or a birth record keeps, which may be the code alone.
std::optional<Gap> ParseGap(std::string_view text);

class GapLatch {
 public:
  // The first one counts.
  void Close(const Gap& gap);

  // What the checkpoint and the birth record say, before each session; nullopt:
  // there is none, which says nothing. True when an operator has opened the
  // latch since: all that is known from before is void.
  bool Observe(std::optional<std::string_view> in_checkpoint,
               std::optional<std::string_view> on_record);

  const std::optional<Gap>& gap() const { return gap_; }

 private:
  std::optional<Gap> gap_;
  bool was_in_checkpoint_ = false;
  bool was_on_record_ = false;
};

}  // namespace walpost
