#include "outbox/record_builder.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "debezium/context_headers.h"
#include "debezium/row_encoder.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// librdkafka's overhead per queued record and per header (measured: 448 bytes
// without headers, about 100 for each).
constexpr size_t kRecordOverheadBytes = 450;
constexpr size_t kHeaderOverheadBytes = 100;

size_t SizeOf(const Value& value) { return value ? value->size() : 0; }

size_t SizeOf(const Record& record) {
  size_t size =
      kRecordOverheadBytes + SizeOf(record.key) + SizeOf(record.value);
  for (const RecordHeader& header : record.headers) {
    size += kHeaderOverheadBytes + header.name.size() + SizeOf(header.value);
  }
  return size;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordBuilder>> RecordBuilder::Create(
    const OutboxOptions& options) {
  WALPOST_ASSIGN_OR_RETURN(std::vector<Route> routes,
                           Route::CreateAll(options));
  WALPOST_ASSIGN_OR_RETURN(DeadLetterBuilder dead_letters,
                           DeadLetterBuilder::Create(options));
  auto builder = std::unique_ptr<RecordBuilder>(
      new RecordBuilder(std::move(routes), options, std::move(dead_letters)));
  if (options.debezium) {
    builder->context_ =
        debezium::MakeContextHeaders(*options.debezium, options.run_id);
  }
  return builder;
}

absl::StatusOr<Record> RecordBuilder::Build(const Event& event,
                                            uint32_t timeline) {
  if (const auto placed = PlacedOf(event, timeline)) {
    return Build(placed->event, placed->timeline);
  }
  const Route& route = routes_[event.source];
  claim_check_.reset();
  if (route.NeedsClaimCheck(event)) {
    claim_check_ = MakeClaimCheck(route.table(), *event.id, *event.payload);
  }
  WALPOST_RETURN_IF_ERROR(ExpandTopic(route, event));
  WALPOST_RETURN_IF_ERROR(AddHeaders(route, event, timeline));
  absl::StatusOr<Record> built(absl::in_place);
  Record& record = *built;
  record.topic = topic_;
  WALPOST_RETURN_IF_ERROR(ReadPartition(route, event, record.partition));
  record.key = event.aggregate_id;
  record.value = claim_check_ ? "" : event.payload;  // no tombstone
  if (format_ == ValueFormat::kProtobuf) {
    WALPOST_ASSIGN_OR_RETURN(
        record.value,
        envelope_.Encode(event, header_object_.members(), timeline,
                         claim_check_ ? &*claim_check_ : nullptr));
  }
  record.headers = headers_;
  record.timestamp = event.timestamp;
  record.id = event.id;
  record.type = event.type;
  record.position = PlaceOf(event, timeline);
  record.creation = route.creation();
  record.has_claim_check = claim_check_.has_value();
  record.size_bytes = SizeOf(record);
  return built;
}

absl::StatusOr<Record> RecordBuilder::BuildDeadLetter(
    const Event& event, const absl::Status& reason, uint32_t timeline) {
  if (const auto placed = PlacedOf(event, timeline)) {
    return BuildDeadLetter(placed->event, reason, placed->timeline);
  }
  const Route& route = routes_[event.source];
  // An event that could not be mapped may lack what its topic is made from.
  const bool has_topic = event.references.size() == route.references().size() &&
                         ExpandTopic(route, event).ok();
  if (!has_topic) topic_.clear();
  absl::StatusOr<Record> built =
      dead_letters_.Build(event, route, reason, topic_, timeline);
  if (!built.ok()) return built;
  built->position = PlaceOf(event, timeline);
  if (!mark_.header.empty()) {
    headers_.assign(built->headers.begin(), built->headers.end());
    headers_.push_back({mark_.header, mark_.value});
    built->headers = headers_;
  }
  built->size_bytes = SizeOf(*built);
  return built;
}

std::optional<RecordBuilder::Placed> RecordBuilder::PlacedOf(
    const Event& event, uint32_t timeline) const {
  const bool is_numbered =
      event.position.ordinal > 0 && !event.position.commit_lsn.is_valid();
  const bool needs_lsn = is_numbered && mark_.lsn.is_valid();
  if (event.own_position == nullptr && !needs_lsn) return std::nullopt;
  Placed placed{event, timeline};
  if (event.own_position != nullptr) {
    placed.timeline = event.own_position->timeline;
    placed.event.position = event.own_position->position;
    placed.event.own_position = nullptr;
  } else {
    placed.event.position.commit_lsn = mark_.lsn;
  }
  return placed;
}

std::optional<TimelinePosition> RecordBuilder::PlaceOf(
    const Event& event, uint32_t timeline) const {
  const bool is_additional = !mark_.header.empty() && !mark_.has_own_place;
  if (is_additional || !event.position.commit_lsn.is_valid()) {
    return std::nullopt;
  }
  return TimelinePosition{timeline, event.position};
}

absl::Status RecordBuilder::ExpandTopic(const Route& route,
                                        const Event& event) {
  WALPOST_RETURN_IF_ERROR(route.topic().Expand(event.references, topic_));
  if (!mark_.topic_prefix.empty()) topic_.insert(0, mark_.topic_prefix);
  if (std::ranges::find(own_topics_, topic_) == own_topics_.end()) {
    return absl::OkStatus();
  }
  return Undeliverable(
      kReasonTopicIllegal,
      fmt::format(
          "topic {} is not for events: walpost keeps its checkpoints or "
          "dead letters there",
          topic_));
}

absl::Status RecordBuilder::ReadPartition(
    const Route& route, const Event& event,
    std::optional<int32_t>& partition) const {
  if (!route.partition()) return absl::OkStatus();
  const Value& value = event.references[*route.partition()];
  if (debezium_ && !value) return absl::OkStatus();  // the key chooses it
  int32_t number = -1;
  bool is_number = false;
  if (value) {
    const char* end = value->data() + value->size();
    const auto [rest, error] = std::from_chars(value->data(), end, number);
    is_number = error == std::errc() && rest == end && number >= 0;
  }
  if (is_number) {
    partition = number;
    return absl::OkStatus();
  }
  constexpr size_t kMaxShown = 20;
  return Undeliverable(
      kReasonPartitionIllegal,
      fmt::format("column '{}' is not the number of a partition: {}",
                  route.references()[*route.partition()],
                  value ? value->substr(0, kMaxShown) : "NULL"));
}

absl::Status RecordBuilder::AddHeaders(const Route& route, const Event& event,
                                       uint32_t timeline) {
  headers_.clear();
  renamed_.clear();
  if (debezium_) {
    WALPOST_RETURN_IF_ERROR(AddDebeziumHeaders(event));
    return AddOwnHeaders(route, event, timeline);
  }
  if (event.id.has_value()) headers_.push_back({kIdHeader, event.id});
  WALPOST_RETURN_IF_ERROR(AddMembers(route, event));
  for (const Route::Header& header : route.headers()) {
    headers_.push_back({header.name, event.references[header.reference]});
  }
  return AddOwnHeaders(route, event, timeline);
}

// An old key stands before the headers of the context.
absl::Status RecordBuilder::AddDebeziumHeaders(const Event& event) {
  WALPOST_RETURN_IF_ERROR(ParseHeaders(event));
  std::span<const JsonObject::Member> members = header_object_.members();
  const auto add = [this](const JsonObject::Member& member) {
    headers_.push_back({member.first, member.second});
  };
  if (!members.empty() && members.front().first == debezium::kOldKeyHeader) {
    add(members.front());
    members = members.subspan(1);
  }
  // Debezium writes them for changes of a table that it streams, not for rows
  // of a snapshot.
  if (!mark_.is_hidden && event.source != messages_) {
    for (const debezium::ContextHeader& header : context_) {
      headers_.push_back({header.name, header.value});
    }
  }
  std::ranges::for_each(members, add);
  return absl::OkStatus();
}

absl::Status RecordBuilder::AddOwnHeaders(const Route& route,
                                          const Event& event,
                                          uint32_t timeline) {
  if (route.has_position_header() && !mark_.without_position) {
    position_.emplace(timeline, event.position);
    headers_.push_back({kPositionHeader, position_->view()});
  }
  if (claim_check_) {
    claim_check_text_ = ToJson(*claim_check_);
    headers_.push_back({kClaimCheckHeader, claim_check_text_});
  }
  if (!mark_.header.empty() && !mark_.is_hidden) {
    headers_.push_back({mark_.header, mark_.value});
  }
  return absl::OkStatus();
}

absl::Status RecordBuilder::ParseHeaders(const Event& event) {
  header_object_.Clear();
  if (!event.headers.has_value()) return absl::OkStatus();
  const absl::Status status = header_object_.Parse(*event.headers);
  if (!status.ok()) {
    return Undeliverable(
        kReasonHeadersUnreadable,
        fmt::format("the headers column is not a JSON object: {}",
                    std::string(status.message())));
  }
  return absl::OkStatus();
}

absl::Status RecordBuilder::AddMembers(const Route& route, const Event& event) {
  WALPOST_RETURN_IF_ERROR(ParseHeaders(event));
  const size_t first = headers_.size();
  for (const auto& [name, value] : header_object_.members()) {
    const bool is_ours =
        name.starts_with(kReservedPrefix) ||
        (name == kIdHeader && event.id.has_value()) ||
        std::ranges::find(route.headers(), name, &Route::Header::name) !=
            route.headers().end();
    if (is_ours) renamed_.push_back(fmt::format("headers.{}", name));
    headers_.push_back({is_ours ? renamed_.back() : name, value});
  }
  return CheckNames(route, first);
}

// Consumers read the first or the last header of a name, so it is unique.
absl::Status RecordBuilder::CheckNames(const Route& route, size_t first) {
  if (header_object_.members().size() + renamed_.size() < 2) {
    return absl::OkStatus();
  }
  names_.clear();
  for (size_t i = first; i < headers_.size(); ++i) {
    names_.push_back(headers_[i].name);
  }
  // A renamed member may have the name of one of ours again.
  for (const Route::Header& header : route.headers()) {
    names_.push_back(header.name);
  }
  std::ranges::sort(names_);
  const auto twice = std::ranges::adjacent_find(names_);
  if (twice == names_.end()) return absl::OkStatus();
  return Undeliverable(
      kReasonHeadersUnreadable,
      fmt::format("the headers column gives header '{}' twice", *twice));
}

}  // namespace walpost
