// Feeds hand-built messages through the decoder into a TransactionAssembler,
// as the source does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "outbox/route.h"
#include "outbox/transaction_assembler.h"
#include "pgoutput/decoder.h"

namespace walpost::testing {

// The names that each source's route needs.
inline std::vector<std::vector<std::string>> ReferencesOf(
    const OutboxOptions& options) {
  return walpost::ReferencesOf(Route::CreateAll(options).value());
}

// One connection's worth of messages.
class MessageFeed {
 public:
  explicit MessageFeed(const OutboxOptions& options)
      : assembler_(options, ReferencesOf(options)) {}

  // The step it makes lives until the next call.
  absl::Status Feed(std::string_view message) {
    bytes_ = message;
    const auto decoded = pgoutput::Decode(bytes_);
    if (!decoded.ok()) return decoded.status();
    return assembler_.Apply(*decoded, step_);
  }

  const Step& step() const { return step_; }
  TransactionAssembler& assembler() { return assembler_; }

 private:
  TransactionAssembler assembler_;
  std::string bytes_;
  Step step_;
};

}  // namespace walpost::testing
