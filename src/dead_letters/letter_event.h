// LetterEvent: the event in a dead letter, to be mapped and routed as now
// configured, as far as the letter has its columns.
//
//   DeadLetter ──▶ LetterEvent ──▶ RecordBuilder
//
// Pure. Use one object for one letter at a time.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dead_letters/dead_letter.h"
#include "outbox/event.h"
#include "outbox/options.h"
#include "outbox/route.h"

namespace walpost {

class LetterEvent {
 public:
  // Both outlive this object.
  LetterEvent(const OutboxOptions& outbox, const std::vector<Route>& routes)
      : outbox_(outbox), routes_(routes) {}

  // Its own position is that of the letter, for a sequence that has others.
  // Valid until the next Of, and as long as `letter`.
  //
  // kInvalidArgument: its position is not one. kFailedPrecondition: the letter
  // does not have all of the event, or its source is not configured (any
  // more); says what to do instead.
  absl::StatusOr<Event> Of(const DeadLetter& letter);

 private:
  absl::StatusOr<size_t> SourceOf(const DeadLetter& letter) const;
  void MapAsConfigured(const DeadLetter& letter, Event& event) const;

  const OutboxOptions& outbox_;
  const std::vector<Route>& routes_;
  std::vector<Value> references_;
  TimelinePosition position_;  // timeline 0: it is not from the WAL
};

}  // namespace walpost
