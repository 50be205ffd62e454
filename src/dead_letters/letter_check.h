// LetterCheck: whether the record of a dead letter can be built as now
// configured, before its event is sent again.
//
// Pure. Use one object for one letter at a time.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dead_letters/dead_letter.h"
#include "dead_letters/letter_event.h"
#include "outbox/options.h"
#include "outbox/record_builder.h"

namespace walpost {

class LetterCheck {
 public:
  // `outbox` outlives it. Errors are those of RecordBuilder::Create.
  static absl::StatusOr<LetterCheck> Create(const OutboxOptions& outbox);

  // Errors are those of LetterEvent::Of and RecordBuilder::Build.
  absl::Status operator()(const DeadLetter& letter);

 private:
  LetterCheck(const OutboxOptions& outbox,
              std::unique_ptr<RecordBuilder> builder)
      : builder_(std::move(builder)), event_(outbox, builder_->routes()) {}

  std::unique_ptr<RecordBuilder> builder_;
  LetterEvent event_;
};

}  // namespace walpost
