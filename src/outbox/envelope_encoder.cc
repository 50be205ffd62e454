#include "outbox/envelope_encoder.h"

#include "base/reason_code.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "outbox/fields.h"
#include "outbox/proto_time.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost {

EnvelopeEncoder::EnvelopeEncoder()
    : envelope_(std::make_unique<v1::Envelope>()) {}
EnvelopeEncoder::EnvelopeEncoder(EnvelopeEncoder&&) noexcept = default;
EnvelopeEncoder& EnvelopeEncoder::operator=(EnvelopeEncoder&&) noexcept =
    default;
EnvelopeEncoder::~EnvelopeEncoder() = default;

absl::StatusOr<std::string_view> EnvelopeEncoder::Encode(
    const Event& event, const std::vector<JsonObject::Member>& headers,
    uint32_t timeline, const ClaimCheck* claim_check) {
  for (const FieldDescription& field : kFields) {
    if (field.value == &Event::payload || field.value == &Event::headers) {
      continue;  // bytes; headers were checked when parsed
    }
    const Value& value = event.*field.value;
    if (value.has_value() && !IsUtf8(*value)) {
      return Undeliverable(
          kReasonTextNotUtf8,
          fmt::format(
              "{} is not text in UTF-8, which value.format protobuf needs",
              field.name));
    }
  }
  envelope_->Clear();
  const auto copy = [](const Value& from, auto&& mutable_field) {
    if (from.has_value()) mutable_field()->assign(*from);
  };
  copy(event.id, [&] { return envelope_->mutable_id(); });
  copy(event.aggregate_type,
       [&] { return envelope_->mutable_aggregate_type(); });
  copy(event.aggregate_id, [&] { return envelope_->mutable_aggregate_id(); });
  copy(event.type, [&] { return envelope_->mutable_type(); });
  if (claim_check == nullptr) {
    copy(event.payload, [&] { return envelope_->mutable_payload(); });
  } else {
    v1::ClaimCheck& claim = *envelope_->mutable_claim_check();
    claim.set_table(claim_check->table);
    claim.set_bytes(claim_check->bytes);
    claim.mutable_sha256()->assign(claim_check->sha256.begin(),
                                   claim_check->sha256.end());
  }
  for (const auto& [name, value] : headers) {
    v1::Header* header = envelope_->add_headers();
    header->mutable_name()->assign(name);
    copy(value, [&] { return header->mutable_value(); });
  }
  SetTime(event.commit_time, *envelope_->mutable_commit_time());
  v1::Position* position = envelope_->mutable_position();
  position->set_timeline(timeline);
  position->set_commit_lsn(event.position.commit_lsn.value());
  position->set_ordinal(event.position.ordinal);
  envelope_->set_xid(event.xid.value());
  envelope_->SerializeToString(&bytes_);
  return bytes_;
}

}  // namespace walpost
