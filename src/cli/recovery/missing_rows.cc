#include "cli/recovery/missing_rows.h"

#include <functional>
#include <set>
#include <utility>

#include "app/sink/sinks.h"
#include "base/status_macros.h"
#include "cli/shared/complete_conninfo.h"
#include "cli/shared/work_directory.h"
#include "fmt/format.h"

namespace walpost {

absl::StatusOr<MissingRows> ReadPublished(
    const Config& config, const OutboxOptions& outbox, ConfirmedBy confirmed_by,
    MissingRows::Expired expired, const std::string& work_directory,
    ProgressLine& progress, ExitCode& end) {
  PublishedEventIndex::Options options;
  options.conninfo = CompleteConninfo(config.postgres.server);
  options.outbox = outbox;
  options.connect = RecordsOf(config);
  options.directory = WorkDirectory(work_directory);
  options.confirmed_by = std::move(confirmed_by);
  WALPOST_ASSIGN_OR_RETURN(const std::set<std::string> topics,
                           PublishedEventIndex::FindTopics(options));
  end = kExitKafka;
  WALPOST_ASSIGN_OR_RETURN(
      std::unique_ptr<PublishedEventIndex> known,
      PublishedEventIndex::Read(options, topics, std::ref(progress)));
  return MissingRows(std::move(known), expired);
}

absl::StatusOr<bool> MissingRows::IsMissing(const Event& event,
                                            std::string_view topic) {
  using Answer = PublishedEventIndex::Answer;
  if (known_ == nullptr) return true;
  const absl::StatusOr<Answer> answer = known_->Ask(
      {topic, event.id.value_or(""), event.aggregate_id, event.payload});
  if (!answer.ok()) return answer.status();
  switch (*answer) {
    case Answer::kUnknown:
      return true;
    case Answer::kKnown:
      return false;
    case Answer::kAltered:
      ++altered_;
      return false;
    case Answer::kSameId:
      ++same_id_;
      return true;
    case Answer::kTwin:
      ++twins_;
      return true;
    case Answer::kExpired:
      ++deleted_;
      return expired_ == Expired::kMissing;
  }
  return true;
}

std::string MissingRows::ToText() const {
  std::string text;
  if (altered_ > 0) {
    text += fmt::format(
        "{} rows have a record with their id and another key or value, and are "
        "not published again: walpost verify -c FILE names them\n",
        altered_);
  }
  if (deleted_ > 0) {
    text += fmt::format(
        "{} rows were sent, and are no longer there, because retention or "
        "compaction has deleted their records: they are {}\n",
        deleted_,
        expired_ == Expired::kMissing
            ? "among these (--expired)"
            : "not published again, except with --expired");
  }
  if (same_id_ > 0) {
    text += fmt::format(
        "{} of the missing rows have an id that was published with another "
        "key or value: another event\n",
        same_id_);
  }
  if (twins_ > 0) {
    text += fmt::format(
        "{} rows have the same topic, id, key and value as another row: they "
        "count as missing, since one record may be all there is\n",
        twins_);
  }
  return text;
}

}  // namespace walpost
