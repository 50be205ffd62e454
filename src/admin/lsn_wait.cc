#include "admin/lsn_wait.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "health/state_line.h"

namespace walpost {
namespace {

constexpr char kUsage[] =
    "as in /wait?lsn=16/B374D838&timeout=10 (1 to 60 seconds)";

absl::Status WrongQuery(std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", what, kUsage));
}

}  // namespace

absl::StatusOr<LsnWait> ParseLsnWait(std::string_view query) {
  LsnWait wait;
  const absl::string_view text(query.data(), query.size());
  for (const absl::string_view part : absl::StrSplit(text, '&')) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string name(words.first);
    const std::string value =
        absl::StrReplaceAll(words.second, {{"%2F", "/"}, {"%2f", "/"}});
    if (name == "lsn") {
      const absl::StatusOr<Lsn> lsn = Lsn::Parse(value);
      if (!lsn.ok()) return WrongQuery("lsn is not an LSN");
      wait.lsn = *lsn;
    } else if (name == "timeout") {
      double seconds = 0;
      const bool is_number = absl::SimpleAtod(value, &seconds);
      if (!is_number || !(seconds >= 1) ||
          seconds > static_cast<double>(LsnWait::kMaxTimeout.count())) {
        return WrongQuery("timeout is not a number from 1 to 60");
      }
      wait.timeout =
          std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
    } else {
      return WrongQuery("the parameters are lsn and timeout");
    }
  }
  if (!wait.lsn.is_valid()) return WrongQuery("lsn is missing");
  return wait;
}

absl::Status Answer(const LsnWait& wait, const RelayStatus& status,
                    std::chrono::milliseconds waited) {
  if (status.is_polling()) {
    return absl::InvalidArgumentError(
        "polled rows have no LSN: walpost wait -c FILE --event ID");
  }
  const auto not_yet = [&status](std::string_view what) {
    return absl::UnavailableError(
        fmt::format("not acknowledged: {}; {}", what, StateLine(status)));
  };
  if (status.has_gap) return not_yet("there is a gap");
  if (!status.is_streaming || !status.has_stream()) {
    return not_yet("this instance does not stream");
  }
  if (wait.lsn < status.slot_birth) {
    return absl::InvalidArgumentError(fmt::format(
        "what was committed before {} is not known to have come through slot "
        "{}",
        status.slot_birth.ToString(), status.slot));
  }
  if (status.confirmed < EndOfWal(wait.lsn)) {
    return not_yet("Kafka has everything up to " + status.confirmed.ToString());
  }
  if (!status.look_age || *status.look_age >= waited) {
    return not_yet("slot and publication are being looked at");
  }
  return absl::OkStatus();
}

}  // namespace walpost
