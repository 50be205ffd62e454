// EnvelopePayload: the payload of a record's value, in either value format.
#pragma once

#include <optional>
#include <string_view>

#include "outbox/options.h"
#include "walpost/v1/envelope.pb.h"

namespace walpost {

class EnvelopePayload {
 public:
  // `value` outlives this object. Any bytes but an envelope are the payload.
  EnvelopePayload(ValueFormat format, std::optional<std::string_view> value)
      : value_(value) {
    if (format == ValueFormat::kRaw || !value ||
        !envelope_.ParseFromArray(value->data(),
                                  static_cast<int>(value->size()))) {
      return;
    }
    value_.reset();
    if (envelope_.has_payload()) value_ = envelope_.payload();
  }

  // Valid as long as this object.
  std::optional<std::string_view> value() const { return value_; }

 private:
  v1::Envelope envelope_;
  std::optional<std::string_view> value_;
};

}  // namespace walpost
