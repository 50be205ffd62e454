#include "outbox/dead_letter_encoder.h"

#include "outbox/proto_time.h"
#include "walpost/v1/dead_letter.pb.h"

namespace walpost {

DeadLetterEncoder::DeadLetterEncoder()
    : letter_(std::make_unique<v1::DeadLetter>()) {}
DeadLetterEncoder::DeadLetterEncoder(DeadLetterEncoder&&) noexcept = default;
DeadLetterEncoder& DeadLetterEncoder::operator=(DeadLetterEncoder&&) noexcept =
    default;
DeadLetterEncoder::~DeadLetterEncoder() = default;

std::string_view DeadLetterEncoder::Encode(const Event& event,
                                           const DeadLetterFacts& facts,
                                           uint32_t timeline) {
  v1::DeadLetter& letter = *letter_;
  letter.Clear();
  letter.set_error_class(facts.error_class);
  letter.set_reason(facts.reason);
  letter.set_source(std::string(facts.source));
  if (!facts.topic.empty()) letter.mutable_topic()->assign(facts.topic);
  const auto copy = [](const Value& from, auto&& mutable_field) {
    if (from.has_value()) mutable_field()->assign(*from);
  };
  copy(event.id, [&] { return letter.mutable_id(); });
  copy(event.aggregate_type, [&] { return letter.mutable_aggregate_type(); });
  copy(event.aggregate_id, [&] { return letter.mutable_aggregate_id(); });
  copy(event.type, [&] { return letter.mutable_type(); });
  copy(facts.payload, [&] { return letter.mutable_payload(); });
  copy(event.headers, [&] { return letter.mutable_headers(); });
  for (const auto& [name, value] : facts.columns) {
    v1::Column* column = letter.add_columns();
    column->mutable_name()->assign(name);
    copy(value, [&] { return column->mutable_value(); });
  }
  if (facts.payload_bytes) letter.set_payload_bytes(*facts.payload_bytes);
  SetTime(event.commit_time, *letter.mutable_commit_time());
  SetTime(event.timestamp, *letter.mutable_timestamp());
  v1::Position* position = letter.mutable_position();
  position->set_timeline(timeline);
  position->set_commit_lsn(event.position.commit_lsn.value());
  position->set_ordinal(event.position.ordinal);
  letter.set_xid(event.xid.value());
  letter.SerializeToString(&bytes_);
  return bytes_;
}

}  // namespace walpost
