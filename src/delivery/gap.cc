#include "delivery/gap.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr std::string_view kGaps[] = {
    kGapOtherCluster,  kGapTimelineDiverged, kGapSlotMissing,
    kGapSlotLost,      kGapSlotNotKept,      kGapSlotAdvanced,
    kGapServerBehind,  kGapWalForked,        kGapCoverageChanged,
    kGapKafkaReplaced, kGapTablePassedOver,  kReasonPublicationMissing};

}  // namespace

std::string ForUnreadBrokers(std::string_view text) {
  return absl::StrReplaceAll(
      {text.data(), text.size()},
      {{kRecover, kRecoverUnread},
       {kRecoverSlot, kRecoverSlotUnread},
       {"Run walpost verify -c FILE to see which; ", "Therefore "},
       // A table that was passed over is settled by --missing alone.
       {" --missing", " --since TIME"},
       {"walpost then continues by itself. To continue without them, stop",
        "then, or to continue without them, stop"}});
}

bool IsGap(std::string_view reason_code) {
  return std::ranges::find(kGaps, reason_code) != std::end(kGaps);
}

bool RestartsPositions(std::string_view reason_code) {
  return reason_code == kGapOtherCluster ||
         reason_code == kGapTimelineDiverged ||
         reason_code == kGapServerBehind || reason_code == kGapWalForked;
}

std::optional<Gap> GapOf(const absl::Status& status) {
  const std::string code = ReasonCodeOf(status);
  if (!IsGap(code)) return std::nullopt;
  return Gap{code, std::string(status.message())};
}

absl::Status StatusOfGap(const Gap& gap) {
  return WithReasonCode(absl::FailedPreconditionError(gap.text), gap.code);
}

std::string ToText(const Gap& gap) {
  return fmt::format("{} {}", gap.code, gap.text);
}

std::optional<Gap> ParseGap(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const size_t space = text.find(' ');
  const std::string code(text.substr(0, space));
  if (space != std::string_view::npos) {
    return Gap{code, std::string(text.substr(space + 1))};
  }
  const bool has_slot = code != kGapSlotMissing && code != kGapSlotLost;
  std::string rest = has_slot ? kRecover : kRecoverSlot;
  if (RestartsPositions(code)) rest += fmt::format(". {}", kForgetPositions);
  return Gap{code, fmt::format("this gap was found before walpost was "
                               "restarted, and waits for an operator; {}",
                               rest)};
}

}  // namespace walpost
