#include "app/stored/dead_letter_topic_reader.h"

#include <memory>
#include <utility>

#include "app/sink/topic_reader_options.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/producer/message_record.h"
#include "log/log.h"
#include "outbox/dead_letter_topic.h"
#include "verify/topic_reader.h"

namespace walpost {
namespace {

constexpr uint64_t kProgressEvery = 10'000;
constexpr uint64_t kMaxPlaces = 20;

}  // namespace

absl::StatusOr<DeadLetterIndex> DeadLetterTopicReader::ReadIndex() {
  DeadLetterIndex index;
  unreadable_ = 0;
  unreadable_places_.clear();
  WALPOST_RETURN_IF_ERROR(
      Read([&index, this](const LetterPlace& place, const Record& record) {
        absl::Status added = index.Add(place, record);
        if (!added.ok() && ++unreadable_ <= kMaxPlaces) {
          unreadable_places_.push_back(std::move(added));
        }
        return absl::OkStatus();
      }));
  return index;
}

absl::Status DeadLetterTopicReader::ReadAt(const std::set<LetterPlace>& places,
                                           const Take& take) {
  return Read([&](const LetterPlace& place, const Record& record) {
    if (!places.contains(place)) return absl::OkStatus();
    auto letter = ReadDeadLetter(record);
    if (!letter.ok()) return letter.status();
    return *letter ? take(place, **std::move(letter)) : absl::OkStatus();
  });
}

absl::Status DeadLetterTopicReader::Read(const TakeRecord& take) {
  WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<TopicReader> reader,
                           TopicReader::Connect(TopicReaderOptionsOf(config_)));
  std::set<std::string> names(topics_.begin(), topics_.end());
  std::set<std::string> prefixes;
  std::string untold;
  for (const std::string& text : templates_) {
    if (!topics_.empty()) break;
    WALPOST_ASSIGN_OR_RETURN(const TopicTemplate topic,
                             ParseDeadLetterTopic(text, NameRule::kKafka));
    if (topic.prefix().empty()) {
      untold = fmt::format(
          "which topics have dead letters cannot be told from "
          "dead_letter.topic {}: name them with --from",
          topic.text());
    } else {
      (topic.references().empty() ? names : prefixes).insert(topic.prefix());
    }
  }
  if (names.empty() && prefixes.empty()) {
    return absl::InvalidArgumentError(untold);
  }
  if (!untold.empty()) {
    LogWarn("{}; events that have a dead letter there may get another", untold);
  }
  WALPOST_ASSIGN_OR_RETURN(const std::set<std::string> topics,
                           reader->FindTopics(names, prefixes));
  uint64_t read = 0;
  return reader->ReadMessages(topics, [&](const rd_kafka_message_t& message) {
    if (++read % kProgressEvery == 0) {
      progress_("reading dead letters", read,
                static_cast<uint64_t>(reader->total()));
    }
    const MessageRecord record(message);
    return take(
        {rd_kafka_topic_name(message.rkt), message.partition, message.offset},
        record.record());
  });
}

}  // namespace walpost
