#include "dead_letters/letter_check.h"

#include "base/status_macros.h"

namespace walpost {

absl::StatusOr<LetterCheck> LetterCheck::Create(const OutboxOptions& outbox) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(outbox));
  return LetterCheck(outbox, std::move(builder));
}

absl::Status LetterCheck::operator()(const DeadLetter& letter) {
  WALPOST_ASSIGN_OR_RETURN(const Event event, event_.Of(letter));
  return builder_->Build(event, /*timeline=*/0).status();
}

}  // namespace walpost
