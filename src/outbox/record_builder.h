// RecordBuilder: event -> record, the last step before Kafka.
//
//   topic      from the route's template
//   partition  of the route's column, if it has one
//   key        aggregate_id
//   value      the payload, or the envelope around it; nothing of it, if there
//              is a claim check
//   headers    id; one per member of the headers column; the route's own;
//              walpost-position; the claim check; the mark, if there is one
//   timestamp  the event's
//
// With OutboxOptions::debezium the headers are those that Debezium writes: of
// the context, for records of the stream; and the members of the headers
// column, whose names may repeat (debezium/row_encoder.h).
//
// Otherwise header names are unique. A member of the headers column with the
// name of one of ours (`id`, those of route.headers, or any with the prefix
// `walpost-`) becomes `headers.<name>`, so that ours always mean what
// docs/configuration.md says.
//
// One for all sources; owned by the Sender or the PollingSender. Reuses its
// buffers: in steady state it allocates nothing.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "debezium/context_headers.h"
#include "outbox/claim_check.h"
#include "outbox/dead_letter_builder.h"
#include "outbox/envelope_encoder.h"
#include "outbox/event.h"
#include "outbox/json_object.h"
#include "outbox/options.h"
#include "outbox/record.h"
#include "outbox/route.h"

namespace walpost {

// Marks records that are deliberately sent in addition to the live flow.
struct RecordMark {
  std::string header;        // walpost-replay, walpost-recovered, ...
  std::string value;         // of that header: identifies the run
  std::string topic_prefix;  // prefix of the topic; may be empty
  // A consumer that remembers positions would take the record for a repeat.
  bool without_position = false;
  // In the position of an event that has only an ordinal.
  Lsn lsn = {};
  bool is_hidden = false;  // records do not have the header
  // The records are the first of their events, as those of a snapshot are: no
  // other has their place (Record::position).
  bool has_own_place = false;
};

class RecordBuilder {
 public:
  // kInvalidArgument: a topic template does not parse, or that of dead letters
  // refers to a column.
  static absl::StatusOr<std::unique_ptr<RecordBuilder>> Create(
      const OutboxOptions& options);

  const std::vector<Route>& routes() const { return routes_; }

  // Marks every record from now on.
  void SetMark(RecordMark mark) { mark_ = std::move(mark); }

  // Builds the record of an event that was mapped with the references of
  // routes()[event.source]. Valid until the next Build, and as long as the
  // event.
  //
  // kInvalidArgument: it cannot be delivered as configured (illegal topic or
  // partition,
  // headers that are not a JSON object or have a member twice); says why.
  absl::StatusOr<Record> Build(const Event& event, uint32_t timeline);

  // Builds the dead letter of an event, mapped or not, that cannot be delivered
  // for `reason`. Lifetimes and errors as those of Build.
  absl::StatusOr<Record> BuildDeadLetter(const Event& event,
                                         const absl::Status& reason,
                                         uint32_t timeline);

 private:
  RecordBuilder(std::vector<Route> routes, const OutboxOptions& options,
                DeadLetterBuilder dead_letters)
      : routes_(std::move(routes)),
        format_(options.value_format),
        debezium_(options.debezium),
        messages_(options.tables.size()),
        dead_letters_(std::move(dead_letters)),
        own_topics_{options.checkpoint_topic, dead_letters_.fixed_topic()} {}

  // An event as its record says it, if that is not as it is.
  struct Placed {
    Event event;
    uint32_t timeline = 0;
  };
  std::optional<Placed> PlacedOf(const Event& event, uint32_t timeline) const;
  std::optional<TimelinePosition> PlaceOf(const Event& event,
                                          uint32_t timeline) const;
  absl::Status ExpandTopic(const Route& route, const Event& event);
  absl::Status ReadPartition(const Route& route, const Event& event,
                             std::optional<int32_t>& partition) const;
  absl::Status AddHeaders(const Route& route, const Event& event,
                          uint32_t timeline);

  absl::Status AddDebeziumHeaders(const Event& event);
  absl::Status AddOwnHeaders(const Route& route, const Event& event,
                             uint32_t timeline);
  absl::Status ParseHeaders(const Event& event);
  absl::Status AddMembers(const Route& route, const Event& event);
  absl::Status CheckNames(const Route& route, size_t first);

  std::vector<Route> routes_;
  ValueFormat format_;
  // Set if records are made as Debezium makes them.
  std::shared_ptr<const debezium::Options> debezium_;
  std::vector<debezium::ContextHeader> context_;
  size_t messages_;  // the source of logical messages
  DeadLetterBuilder dead_letters_;
  std::array<std::string, 2> own_topics_;  // where no event may go
  RecordMark mark_;

  // For the current record.
  std::string topic_;
  std::vector<RecordHeader> headers_;
  std::vector<std::string_view> names_;  // of headers_, sorted
  std::deque<std::string> renamed_;      // texts that headers_ views
  JsonObject header_object_;
  std::optional<PositionText> position_;
  std::optional<ClaimCheck> claim_check_;
  std::string claim_check_text_;
  EnvelopeEncoder envelope_;
};

}  // namespace walpost
