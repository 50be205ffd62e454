#include "app/process/state_log.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "spdlog/spdlog.h"

namespace walpost {
namespace {

std::string WithoutDigits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return absl::ascii_isdigit(c); });
  return text;
}

// Events are published, but not for long, or not all of them.
bool NeedsAttention(RelayState state) {
  return state == RelayState::kAtRisk || state == RelayState::kDegraded ||
         state == RelayState::kPaused;
}

}  // namespace

void StateLog::Update(Diagnosis diagnosis, MonotonicTime now) {
  const bool is_another = diagnosis.state != diagnosis_.state;
  const bool says_another =
      WithoutDigits(diagnosis.reason) != WithoutDigits(diagnosis_.reason);
  if (is_another) since_ = now;
  if (diagnosis.state == RelayState::kStuck) {
    if (is_another || says_another)
      spdlog::error("stuck: {}", diagnosis.reason);
  } else if (is_another) {
    spdlog::log(NeedsAttention(diagnosis.state) ? spdlog::level::warn
                                                : spdlog::level::info,
                "{}{}{}", ToString(diagnosis.state),
                diagnosis.reason.empty() ? "" : ": ", diagnosis.reason);
  }
  diagnosis_ = std::move(diagnosis);
}

void StateLog::Report(MonotonicTime now, RelayStatus& status) const {
  status.state = diagnosis_.state;
  status.reason = diagnosis_.reason;
  status.reason_code = diagnosis_.code;
  status.causes = diagnosis_.causes;
  status.in_state_for =
      std::chrono::duration_cast<std::chrono::seconds>(now - since_);
}

}  // namespace walpost
