// EnvelopeEncoder: an event as walpost.v1.Envelope, the value of records with
// `value.format: protobuf`. The contract is proto/walpost/v1/envelope.proto.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/claim_check.h"
#include "outbox/event.h"
#include "outbox/json_object.h"

namespace walpost {

namespace v1 {
class Envelope;
}

class EnvelopeEncoder {
 public:
  EnvelopeEncoder();
  EnvelopeEncoder(EnvelopeEncoder&&) noexcept;
  EnvelopeEncoder& operator=(EnvelopeEncoder&&) noexcept;
  ~EnvelopeEncoder();

  // `headers` are the members of event.headers. With a claim check, the payload
  // is left out. The bytes are valid until the
  // next Encode. kInvalidArgument: a field other than the payload is not UTF-8
  // text, as protobuf strings must be; only value.format raw accepts it.
  absl::StatusOr<std::string_view> Encode(
      const Event& event, const std::vector<JsonObject::Member>& headers,
      uint32_t timeline, const ClaimCheck* claim_check);

 private:
  // Reused, so that its strings keep their memory.
  std::unique_ptr<v1::Envelope> envelope_;
  std::string bytes_;
};

}  // namespace walpost
