#include "nats/stream_info.h"

#include <algorithm>

#include "fmt/format.h"
#include "nats/json_document.h"
#include "nats/subject.h"

namespace walpost {
namespace {

int64_t LimitOf(const JsonValue& config, const char* name) {
  const int64_t limit = config.Signed(name);
  return limit > 0 ? limit : -1;
}

// A time of RFC 3339 in UTC, so that its text sorts; empty: it is none. The
// fraction of the servers has no zeros at its end.
std::string SortableTime(std::string text) {
  constexpr size_t kSeconds = sizeof("2026-11-29T10:02:18") - 1;
  constexpr size_t kNanos = sizeof(".123456789") - 1;
  if (text.size() <= kSeconds || text.back() != 'Z') return "";
  text.pop_back();
  if (text.size() == kSeconds) text += '.';
  text.resize(kSeconds + kNanos, '0');
  return text;
}

}  // namespace

bool StreamInfo::Takes(std::string_view subject) const {
  return std::ranges::any_of(subjects, [subject](const std::string& filter) {
    return SubjectMatches(filter, subject);
  });
}

bool StreamInfo::is_of_nats() const {
  return !subjects.empty() &&
         std::ranges::all_of(subjects, [](const std::string& filter) {
           return filter.starts_with('$');
         });
}

absl::Status StreamInfo::CheckUsable() const {
  if (!acknowledges) {
    return absl::FailedPreconditionError(
        fmt::format("stream {} acknowledges nothing (no_ack), so no record "
                    "would ever count "
                    "as delivered: nats stream edit {} --ack",
                    name, name));
  }
  if (is_sealed) {
    return absl::FailedPreconditionError(fmt::format(
        "stream {} is sealed and takes nothing more: make another stream",
        name));
  }
  return absl::OkStatus();
}

StreamInfo ParseStreamInfo(std::string_view json) {
  const JsonDocument document(json);
  const JsonValue root = document.root();
  const JsonValue config = root.Child("config");
  StreamInfo info;
  info.name = config.Text("name");
  info.subjects = config.Texts("subjects");
  info.created = root.Text("created");
  const JsonValue state = root.Child("state");
  info.last_sequence = state.Number("last_seq");
  const std::string oldest = SortableTime(state.Text("first_ts"));
  info.has_older_messages = state.Number("messages") > 0 && !oldest.empty() &&
                            oldest < SortableTime(info.created);
  info.leader = root.Child("cluster").Text("leader");
  info.is_in_memory = config.Text("storage") == "memory";
  // A server without a cluster takes any number, and keeps one copy.
  info.is_clustered = !root.Child("cluster").Text("name").empty();
  if (info.is_clustered) {
    info.replicas =
        std::max(1, static_cast<int>(config.Number("num_replicas")));
  }
  info.retention = config.Text("retention");
  info.discards_new = config.Text("discard") == "new";
  info.is_sealed = config.Flag("sealed");
  info.acknowledges = !config.Flag("no_ack");
  info.max_message_bytes = LimitOf(config, "max_msg_size");
  info.max_messages = LimitOf(config, "max_msgs");
  info.max_bytes = LimitOf(config, "max_bytes");
  info.duplicate_window =
      std::chrono::nanoseconds(config.Number("duplicate_window"));
  return info;
}

}  // namespace walpost
