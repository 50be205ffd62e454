#include "outbox/dead_letter_builder.h"

#include <algorithm>
#include <chrono>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "outbox/dead_letter_topic.h"
#include "outbox/fields.h"

namespace walpost {
namespace {

// First bytes of a payload that is cut.
constexpr size_t kCutBytes = size_t{4} << 10;
constexpr size_t kMaxReasonBytes = 1'000;

std::string Millis(WallTime time) {
  return fmt::format("{}", std::chrono::floor<std::chrono::milliseconds>(time)
                               .time_since_epoch()
                               .count());
}

}  // namespace

KeptPayload KeepPayload(const Value& payload, DeadLetterOptions::Payload part) {
  using Payload = DeadLetterOptions::Payload;
  if (!payload || part == Payload::kWhole) return {payload, std::nullopt};
  const size_t kept = part == Payload::kCut ? kCutBytes : 0;
  if (payload->size() <= kept) return {payload, std::nullopt};
  return {payload->substr(0, kept), payload->size()};
}

absl::StatusOr<DeadLetterBuilder> DeadLetterBuilder::Create(
    const OutboxOptions& options) {
  WALPOST_ASSIGN_OR_RETURN(
      TopicTemplate topic,
      ParseDeadLetterTopic(options.dead_letter.topic, options.route.names));
  DeadLetterBuilder builder(std::move(topic));
  builder.store_ = options.dead_letter.store;
  builder.payload_ = options.dead_letter.payload;
  builder.creation_ = options.dead_letter.create_topics;
  builder.format_ = options.value_format;
  builder.checkpoint_topic_ = options.checkpoint_topic;
  return builder;
}

absl::StatusOr<Record> DeadLetterBuilder::Build(const Event& event,
                                                const Route& route,
                                                const absl::Status& reason,
                                                std::string_view topic,
                                                uint32_t timeline) {
  if (store_ == DeadLetterOptions::Store::kPostgres) {
    return absl::InvalidArgumentError(
        "dead letters are for parking.table (dead_letter.store: postgres), "
        "which only the stream of walpost run writes");
  }
  facts_ = {};
  facts_.error_class = ReasonCodeOf(reason);
  facts_.reason = ValidUtf8({reason.message().data(), reason.message().size()},
                            kMaxReasonBytes);
  facts_.topic = topic;
  facts_.source = route.source();
  WALPOST_RETURN_IF_ERROR(ExpandTopic(event));
  CollectColumns(event, route);
  const KeptPayload kept = KeepPayload(event.payload, payload_);
  facts_.payload = kept.payload;
  facts_.payload_bytes = kept.whole_bytes;
  position_.reset();
  if (timeline > 0) position_.emplace(timeline, event.position);
  AddHeaders(event);
  absl::StatusOr<Record> built(absl::in_place);
  Record& record = *built;
  record.topic = expanded_topic_;
  record.key = event.aggregate_id;
  record.value = facts_.payload;
  if (format_ == ValueFormat::kProtobuf) {
    record.value = encoder_.Encode(event, facts_, timeline);
  }
  record.headers = headers_;
  record.timestamp = event.timestamp;
  record.id = event.id;
  record.type = event.type;
  record.creation = creation_ ? &*creation_ : nullptr;
  return built;
}

absl::Status DeadLetterBuilder::ExpandTopic(const Event& event) {
  std::vector<Value> values;
  for (const std::string& name : topic_.references()) {
    if (name == kErrorClassName) {
      values.emplace_back(facts_.error_class);
    } else if (name == kSourceName) {
      values.emplace_back(facts_.source);
    } else {
      values.push_back(event.*kFields[FindField(name)].value);
    }
  }
  WALPOST_RETURN_IF_ERROR(topic_.Expand(values, expanded_topic_));
  if (expanded_topic_ == checkpoint_topic_) {
    return absl::InvalidArgumentError(
        fmt::format("dead_letter.topic makes '{}', the topic of checkpoints",
                    expanded_topic_));
  }
  if (expanded_topic_ != facts_.topic) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("dead_letter.topic makes '{}', the topic of the event itself",
                  expanded_topic_));
}

// Fields have headers of their own.
void DeadLetterBuilder::CollectColumns(const Event& event, const Route& route) {
  columns_.clear();
  for (size_t i = 0; i < event.references.size(); ++i) {
    const std::string& name = route.references()[i];
    if (FindField(name) == kFields.size()) {
      columns_.emplace_back(name, event.references[i]);
    }
  }
  facts_.columns = columns_;
}

void DeadLetterBuilder::AddHeaders(const Event& event) {
  headers_.clear();
  texts_.clear();
  if (event.id) headers_.push_back({kIdHeader, event.id});
  if (position_) headers_.push_back({kPositionHeader, position_->view()});
  headers_.push_back({kDeadLetterHeader, facts_.error_class});
  headers_.push_back({"walpost-dead-letter-reason", facts_.reason});
  if (format_ == ValueFormat::kProtobuf) {
    headers_.push_back({kDeadLetterFormatHeader, "protobuf"});
  }
  if (!facts_.topic.empty()) {
    headers_.push_back({"walpost-dead-letter-topic", facts_.topic});
  }
  headers_.push_back({"walpost-dead-letter-source", facts_.source});
  headers_.push_back(
      {"walpost-dead-letter-commit-time", Keep(Millis(event.commit_time))});
  headers_.push_back(
      {"walpost-dead-letter-timestamp", Keep(Millis(event.timestamp))});
  headers_.push_back(
      {"walpost-dead-letter-aggregate-type", event.aggregate_type});
  headers_.push_back({"walpost-dead-letter-type", event.type});
  headers_.push_back({"walpost-dead-letter-headers", event.headers});
  for (const auto& [name, value] : columns_) {
    const std::string& header =
        texts_.emplace_back(fmt::format("walpost-dead-letter-column-{}", name));
    headers_.push_back({header, value});
  }
  if (facts_.payload_bytes) {
    headers_.push_back({"walpost-dead-letter-payload-bytes",
                        Keep(fmt::format("{}", *facts_.payload_bytes))});
  }
}

}  // namespace walpost
