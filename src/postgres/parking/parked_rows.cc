#include "postgres/parking/parked_rows.h"

#include <optional>
#include <utility>

#include "base/byte_reader.h"
#include "base/status_macros.h"
#include "parking/parked_codec.h"

namespace walpost {
namespace {

absl::StatusOr<std::string> ReadKey(const QueryRows& rows, size_t row,
                                    size_t column) {
  WALPOST_ASSIGN_OR_RETURN(OwnValue key, rows.Bytea(row, column));
  return std::move(key).value_or("");
}

// The columns of ParkingSql::FirstOf, from `column` on. An event of an earlier
// cluster comes before all of this one.
absl::StatusOr<ParkedSoFar::First> ParseFirst(const QueryRows& rows, size_t row,
                                              size_t column) {
  ParkedSoFar::First first;
  if (!rows.Bool(row, column)) return first;
  WALPOST_ASSIGN_OR_RETURN(first.position,
                           ParseSortableText(rows.Text(row, column + 2)));
  if (rows.Bool(row, column + 1)) return first;
  first.position.ordinal = 0;
  if (!rows.Get(row, column + 4)) return first;  // the stream is past it
  WALPOST_ASSIGN_OR_RETURN(const OwnValue event, rows.Bytea(row, column + 4));
  DeadLetter content;
  WALPOST_RETURN_IF_ERROR(DecodeParked(event.value_or(""), content));
  first.digest = rows.Text(row, column + 3);
  first.source = content.source;
  return first;
}

// A binary result: its numbers are big-endian, and its texts are the same.
ParkedNumber ReadNumber(const QueryRows& rows, size_t row, size_t column) {
  return ByteReader(rows.Get(row, column).value_or("")).ReadUint64();
}

}  // namespace

absl::StatusOr<std::vector<ParkedRow>> ParseParkedRows(const QueryRows& rows,
                                                       bool has_class) {
  std::vector<ParkedRow> parsed;
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedRow& row = parsed.emplace_back();
    row.number = ReadNumber(rows, i, 0);
    row.system_identifier = rows.Text(i, 1);
    row.position = rows.Text(i, 2);
    WALPOST_RETURN_IF_ERROR(
        DecodeParked(rows.Get(i, 3).value_or(""), row.content));
    const std::optional<std::string_view> payload = rows.Get(i, 4);
    if (payload) row.content.payload.emplace(*payload);
    if (has_class) row.content.error_class = rows.Text(i, 5);
  }
  return parsed;
}

absl::StatusOr<std::vector<ParkedLane>> ParseParkedLanes(
    const QueryRows& rows) {
  std::vector<ParkedLane> lanes;
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedLane& lane = lanes.emplace_back();
    WALPOST_ASSIGN_OR_RETURN(lane.aggregate_type, rows.Bytea(i, 0));
    WALPOST_ASSIGN_OR_RETURN(lane.key, ReadKey(rows, i, 1));
    lane.events = rows.Unsigned(i, 2);
    lane.dead = rows.Unsigned(i, 3);
    lane.age = std::chrono::seconds(rows.Integer(i, 4));
  }
  return lanes;
}

std::vector<IsolatedTopic> ParseIsolatedTopics(const QueryRows& rows) {
  std::vector<IsolatedTopic> topics;
  for (size_t i = 0; i < rows.size(); ++i) {
    topics.push_back({rows.Text(i, 0), rows.Unsigned(i, 1), rows.Unsigned(i, 2),
                      rows.Unsigned(i, 3),
                      std::chrono::seconds(rows.Integer(i, 4))});
  }
  return topics;
}

absl::StatusOr<ParkedSoFar> ParseParkedSoFar(const QueryRows& rows) {
  ParkedSoFar so_far;
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedSoFar::OrderingKey& lane = so_far.lanes.emplace_back();
    WALPOST_ASSIGN_OR_RETURN(lane.aggregate_type, rows.Bytea(i, 0));
    WALPOST_ASSIGN_OR_RETURN(lane.key, ReadKey(rows, i, 1));
    WALPOST_ASSIGN_OR_RETURN(lane.first, ParseFirst(rows, i, 2));
  }
  return so_far;
}

// The last event counts with all of its transaction, if its ordinal says
// nothing.
absl::Status ParseIsolatedSpans(const QueryRows& rows, ParkedSoFar& so_far) {
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedSoFar::Span& span = so_far.topics[rows.Text(i, 0)];
    WALPOST_ASSIGN_OR_RETURN(span.first, ParseFirst(rows, i, 1));
    if (!rows.Bool(i, 6)) continue;
    WALPOST_ASSIGN_OR_RETURN(span.last, ParseSortableText(rows.Text(i, 8)));
    if (!rows.Bool(i, 7)) span.last.ordinal = UINT64_MAX;
  }
  return absl::OkStatus();
}

absl::Status ParseSettledEvents(const QueryRows& rows, ParkedSoFar& so_far) {
  for (size_t i = 0; i < rows.size(); ++i) {
    WALPOST_ASSIGN_OR_RETURN(const Position position,
                             ParseSortableText(rows.Text(i, 0)));
    WALPOST_ASSIGN_OR_RETURN(const ParkedState state,
                             ParseParkedState(rows.Text(i, 1)));
    RecordedEvents<ParkedSoFar::Settled>::Entry entry{
        rows.Text(i, 3), {state, rows.Unsigned(i, 4)}};
    if (rows.Bool(i, 2)) {
      so_far.settled.Add(position, std::move(entry));
    } else {
      so_far.settled.AddOfOtherNumbering(position.commit_lsn, std::move(entry));
    }
  }
  return absl::OkStatus();
}

}  // namespace walpost
