// DeadLetterBuilder: an event that cannot be delivered -> its dead letter.
//
//   topic    of `dead_letter.topic`
//   key      aggregate_id, as the event's record would have
//   value    the payload, whole, cut or left out; with `value.format: protobuf`
//            a walpost.v1.DeadLetter
//   headers  what is known of the event and its error:
//
//     id                              as in the event's record
//     walpost-position                if there is one: with a timeline
//     walpost-dead-letter             class of the error
//                                     (delivery/error_actions.h)
//     walpost-dead-letter-reason      the error
//     walpost-dead-letter-format      protobuf, if the value is a
//                                     walpost.v1.DeadLetter
//     walpost-dead-letter-topic       the event's topic, if it has one
//     walpost-dead-letter-source      the table, or the messages
//     walpost-dead-letter-commit-time milliseconds since 1970
//     walpost-dead-letter-timestamp   of the event's record, likewise
//     walpost-dead-letter-aggregate-type, -type, -headers
//                                     the columns, as they are
//     walpost-dead-letter-column-NAME other columns that the route refers to
//     walpost-dead-letter-payload-bytes
//                                     of a payload that is cut or left out
//
// A NULL is a null header. The dead letter has the whole event, except a
// payload that is cut or left out, so that it can be sent again.
//
// Owned by the RecordBuilder. Reuses its buffers. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "outbox/dead_letter_encoder.h"
#include "outbox/event.h"
#include "outbox/options.h"
#include "outbox/record.h"
#include "outbox/route.h"
#include "outbox/topic_template.h"

namespace walpost {

inline constexpr std::string_view kDeadLetterHeader = "walpost-dead-letter";
inline constexpr std::string_view kDeadLetterFormatHeader =
    "walpost-dead-letter-format";

// The part of a payload that is kept in the dead letter.
struct KeptPayload {
  Value payload;
  std::optional<uint64_t> whole_bytes;  // set if it is not whole
};
KeptPayload KeepPayload(const Value& payload, DeadLetterOptions::Payload part);

class DeadLetterBuilder {
 public:
  // Errors are those of ParseDeadLetterTopic.
  static absl::StatusOr<DeadLetterBuilder> Create(const OutboxOptions& options);

  // `reason`: the error of the event, with its reason code. `topic`: of the
  // event; empty: not known. Valid until the next Build, and as long as event,
  // route and `topic`.
  //
  // kInvalidArgument: the dead letter has no legal topic, or that of the event,
  // or that of checkpoints; or dead letters are not for Kafka
  // (dead_letter.store).
  absl::StatusOr<Record> Build(const Event& event, const Route& route,
                               const absl::Status& reason,
                               std::string_view topic, uint32_t timeline);

  // The topic of all dead letters; empty: there is none, or it depends on them.
  std::string fixed_topic() const {
    const bool is_fixed = store_ == DeadLetterOptions::Store::kKafka &&
                          topic_.references().empty();
    return is_fixed ? topic_.text() : "";
  }

 private:
  explicit DeadLetterBuilder(TopicTemplate topic) : topic_(std::move(topic)) {}

  absl::Status ExpandTopic(const Event& event);
  void CollectColumns(const Event& event, const Route& route);
  void AddHeaders(const Event& event);
  Value Keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  TopicTemplate topic_;
  std::optional<TopicCreation> creation_;
  DeadLetterOptions::Store store_ = DeadLetterOptions::Store::kKafka;
  DeadLetterOptions::Payload payload_ = DeadLetterOptions::Payload::kWhole;
  ValueFormat format_ = ValueFormat::kRaw;
  std::string checkpoint_topic_;  // empty: none

  // For the current record.
  DeadLetterFacts facts_;
  std::string expanded_topic_;
  std::vector<std::pair<std::string_view, Value>> columns_;
  std::vector<RecordHeader> headers_;
  std::deque<std::string> texts_;  // that headers_ views
  std::optional<PositionText> position_;
  DeadLetterEncoder encoder_;
};

}  // namespace walpost
