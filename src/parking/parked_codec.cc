#include "parking/parked_codec.h"

#include <array>
#include <utility>

#include "fmt/format.h"
#include "outbox/proto_time.h"
#include "walpost/v1/dead_letter.pb.h"

namespace walpost {
namespace {

constexpr std::array kStates = {
    ParkedState::kDead,
    ParkedState::kWaiting,
    ParkedState::kRetry,
    ParkedState::kReleased,
    ParkedState::kDiscarded,
    ParkedState::kLetter,
    ParkedState::kLetterRetry,
    ParkedState::kLetterRetried,
    ParkedState::kLetterDiscarded,
};

WallTime TimeOf(const google::protobuf::Timestamp& timestamp) {
  return WallTime(std::chrono::seconds(timestamp.seconds()) +
                  std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::nanoseconds(timestamp.nanos())));
}

}  // namespace

std::string SortableText(const Position& position) {
  return fmt::format("{:016X}-{:016X}", position.commit_lsn.value(),
                     position.ordinal);
}

absl::StatusOr<Position> ParseSortableText(std::string_view text) {
  const auto parsed = ParsePositionText(fmt::format("00000000-{}", text));
  if (parsed.ok()) return parsed->position;
  return absl::DataLossError(fmt::format("its position is '{}'", text));
}

absl::StatusOr<ParkedState> ParseParkedState(std::string_view text) {
  for (const ParkedState state : kStates) {
    if (text == ToString(state)) return state;
  }
  return absl::DataLossError(fmt::format("its state is '{}'", text));
}

std::string EncodeParked(const DeadLetter& content) {
  v1::DeadLetter message;
  message.set_source(content.source);
  if (content.id) message.set_id(*content.id);
  if (content.aggregate_type) {
    message.set_aggregate_type(*content.aggregate_type);
  }
  if (content.aggregate_id) message.set_aggregate_id(*content.aggregate_id);
  if (content.type) message.set_type(*content.type);
  if (content.headers) message.set_headers(*content.headers);
  for (const auto& [name, value] : content.columns) {
    v1::Column& column = *message.add_columns();
    column.set_name(name);
    if (value) column.set_value(*value);
  }
  if (content.payload_bytes) message.set_payload_bytes(*content.payload_bytes);
  SetTime(content.commit_time, *message.mutable_commit_time());
  SetTime(content.timestamp, *message.mutable_timestamp());
  return message.SerializeAsString();
}

absl::Status DecodeParked(std::string_view bytes, DeadLetter& content) {
  v1::DeadLetter message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("its event is not a walpost.v1.DeadLetter");
  }
  content.source = message.source();
  if (message.has_id()) content.id = message.id();
  if (message.has_aggregate_type()) {
    content.aggregate_type = message.aggregate_type();
  }
  if (message.has_aggregate_id()) content.aggregate_id = message.aggregate_id();
  if (message.has_type()) content.type = message.type();
  if (message.has_headers()) content.headers = message.headers();
  for (const v1::Column& column : message.columns()) {
    OwnValue value;
    if (column.has_value()) value = column.value();
    content.columns.emplace_back(column.name(), std::move(value));
  }
  if (message.has_payload_bytes()) {
    content.payload_bytes = message.payload_bytes();
  }
  content.commit_time = TimeOf(message.commit_time());
  content.timestamp = TimeOf(message.timestamp());
  return absl::OkStatus();
}

}  // namespace walpost
