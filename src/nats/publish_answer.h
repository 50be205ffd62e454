// PublishAnswer: the answer to a published message, and what it means.
//
//   {"stream":"ORDERS","seq":17}                      stored
//   {"stream":"ORDERS","seq":17,"duplicate":true}     stored earlier
//   {"error":{"code":503,"err_code":10077,...},...}   rejected
//   a message with status 503                         no stream listens
//
// Pure. https://docs.nats.io/reference/reference-protocols/nats_api_reference
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "nats/jetstream_error.h"

namespace walpost {

struct PublishAnswer {
  enum class Kind {
    kStored,
    kRejected,       // `error` says why
    kNoResponders,   // nothing listens on the subject: not stored
    kUnintelligible  // another subscriber has answered, not JetStream
  };
  Kind kind = Kind::kUnintelligible;
  std::string stream;
  uint64_t stream_sequence = 0;
  bool is_duplicate = false;
  JetStreamError error = {};

  // False: another stream has taken the message, which was not asked for.
  bool IsStoredBy(std::string_view expected) const {
    return kind == Kind::kStored && stream == expected;
  }

  static PublishAnswer NoResponders() {
    return {.kind = Kind::kNoResponders, .stream = {}};
  }
  static PublishAnswer Parse(std::string_view json);
};

}  // namespace walpost
