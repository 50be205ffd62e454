// DeadLetterEncoder: a dead letter as walpost.v1.DeadLetter, with
// `value.format: protobuf`. The contract is proto/walpost/v1/dead_letter.proto.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "outbox/event.h"

namespace walpost {

namespace v1 {
class DeadLetter;
}

// Facts that a dead letter has in addition to the event.
struct DeadLetterFacts {
  std::string error_class;
  std::string reason;
  std::string_view topic;  // empty: none is known
  std::string_view source;
  Value payload;  // as the dead letter has it
  std::optional<uint64_t> payload_bytes;
  std::span<const std::pair<std::string_view, Value>> columns;
};

class DeadLetterEncoder {
 public:
  DeadLetterEncoder();
  DeadLetterEncoder(DeadLetterEncoder&&) noexcept;
  DeadLetterEncoder& operator=(DeadLetterEncoder&&) noexcept;
  ~DeadLetterEncoder();

  // The bytes are valid until the next Encode.
  std::string_view Encode(const Event& event, const DeadLetterFacts& facts,
                          uint32_t timeline);

 private:
  std::unique_ptr<v1::DeadLetter> letter_;
  std::string bytes_;
};

}  // namespace walpost
