// AMQP 0-9-1 on bytes: librabbitmq encodes and decodes, and does no I/O.
//
//   frame     type (1 byte)  channel (2)  size (4)  payload  0xCE
//   method    class (2)  method (2)  fields
//   content   a method frame, a header frame, and body frames
//
// https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf, 2.3 and 4.2
#pragma once

// librabbitmq 0.15 has its headers in a folder.
#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace walpost::rabbitmq {

inline amqp_bytes_t AmqpBytes(std::string_view text) {
  // librabbitmq does not write to what it encodes.
  return {text.size(), const_cast<char*>(text.data())};
}
inline std::string_view AmqpView(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

// A view, valid until the next call of the reader.
struct AmqpFrame {
  uint8_t type = 0;
  uint16_t channel = 0;
  std::string_view payload;
};

inline constexpr size_t kAmqpFrameOverhead = 8;
// Before the two sides agree on more.
inline constexpr size_t kMinAmqpFrame = 4096;

// Cuts the bytes of a server into frames.
class AmqpFrameReader {
 public:
  // Frames with more bytes, overhead included, are an error.
  void SetMaxFrame(size_t bytes) { max_frame_ = bytes; }

  void Append(std::string_view bytes);
  // nullopt: more bytes are needed. kDataLoss: not frames of AMQP.
  absl::StatusOr<std::optional<AmqpFrame>> Next();

 private:
  std::string buffer_;
  size_t begin_ = 0;
  size_t max_frame_ = kMinAmqpFrame;
};

// The fields of a method; views into the frame and into the decoder.
struct AmqpMethod {
  amqp_method_number_t id = 0;
  void* fields = nullptr;

  template <typename T>
  const T& As() const {
    return *static_cast<const T*>(fields);
  }
};

class AmqpDecoder {
 public:
  AmqpDecoder();
  ~AmqpDecoder();
  AmqpDecoder(const AmqpDecoder&) = delete;
  AmqpDecoder& operator=(const AmqpDecoder&) = delete;

  // Valid until the next call. kDataLoss: the bytes are not a method.
  absl::StatusOr<AmqpMethod> Method(std::string_view payload);

  struct ContentHeader {
    uint64_t body_bytes = 0;
    const amqp_basic_properties_t* properties = nullptr;
  };
  // Likewise, for the payload of a header frame of class basic.
  absl::StatusOr<ContentHeader> Header(std::string_view payload);

 private:
  amqp_pool_t pool_;
};

void AppendAmqpProtocolHeader(std::string& out);
void AppendAmqpHeartbeat(std::string& out);

// `fields` is the struct of librabbitmq for the method. kInvalidArgument: a
// field is too long for it.
absl::Status AppendAmqpMethod(uint16_t channel, amqp_method_number_t id,
                              void* fields, std::string& out);
template <typename T>
absl::Status AppendAmqpMethod(uint16_t channel, amqp_method_number_t id,
                              T fields, std::string& out) {
  return AppendAmqpMethod(channel, id, static_cast<void*>(&fields), out);
}

// Appends the header frame and the body frames of a content. kInvalidArgument:
// the properties do not fit in one frame.
absl::Status AppendAmqpContent(uint16_t channel,
                               amqp_basic_properties_t& properties,
                               std::string_view body, size_t max_frame,
                               std::string& out);

}  // namespace walpost::rabbitmq
