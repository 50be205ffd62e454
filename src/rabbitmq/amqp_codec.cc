#include "rabbitmq/amqp_codec.h"

#include <algorithm>

#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

constexpr size_t kFrameHead = 7;
constexpr char kFrameEnd = '\xCE';
constexpr size_t kMethodHead = 4;
constexpr size_t kContentHead = 12;
constexpr size_t kPoolPage = 4096;
// Encoded methods are short, but for the properties of a client.
constexpr size_t kMaxMethod = 8192;

uint64_t ReadNumber(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

void AppendNumber(uint64_t number, size_t bytes, std::string& out) {
  for (size_t i = bytes; i > 0; --i) {
    out += static_cast<char>(number >> (8 * (i - 1)) & 0xFF);
  }
}

void AppendHead(uint8_t type, uint16_t channel, size_t size, std::string& out) {
  out += static_cast<char>(type);
  AppendNumber(channel, 2, out);
  AppendNumber(size, 4, out);
}

// A TLS port answers so to a client that does not speak TLS.
constexpr std::string_view kTlsAlert = "\x15\x03";

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(
      fmt::format("the server has sent {}, which is not AMQP 0-9-1", what));
}

}  // namespace

// ---- Frames of the server.

void AmqpFrameReader::Append(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_ += bytes;
}

absl::StatusOr<std::optional<AmqpFrame>> AmqpFrameReader::Next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  // A server that speaks another version answers with the one it speaks.
  if (rest.starts_with("AMQP")) return Damaged("another version of AMQP");
  if (rest.starts_with(kTlsAlert)) {
    return absl::DataLossError(
        "the server has sent an alert of TLS, which is not AMQP 0-9-1: is it a "
        "TLS port? (rabbitmq.tls.enabled)");
  }
  if (rest.size() < kFrameHead) return std::nullopt;
  const size_t size = ReadNumber(rest.substr(3, 4));
  if (size + kAmqpFrameOverhead > max_frame_) {
    return Damaged(fmt::format("a frame of {} bytes", size));
  }
  if (rest.size() < size + kAmqpFrameOverhead) return std::nullopt;
  if (rest[kFrameHead + size] != kFrameEnd) return Damaged("a frame too long");
  begin_ += size + kAmqpFrameOverhead;
  return AmqpFrame{static_cast<uint8_t>(rest[0]),
                   static_cast<uint16_t>(ReadNumber(rest.substr(1, 2))),
                   rest.substr(kFrameHead, size)};
}

AmqpDecoder::AmqpDecoder() { init_amqp_pool(&pool_, kPoolPage); }
AmqpDecoder::~AmqpDecoder() { empty_amqp_pool(&pool_); }

absl::StatusOr<AmqpMethod> AmqpDecoder::Method(std::string_view payload) {
  recycle_amqp_pool(&pool_);
  if (payload.size() < kMethodHead) return Damaged("a short method");
  AmqpMethod method;
  method.id = static_cast<amqp_method_number_t>(
      ReadNumber(payload.substr(0, kMethodHead)));
  const int result = amqp_decode_method(method.id, &pool_,
                                        AmqpBytes(payload.substr(kMethodHead)),
                                        &method.fields);
  if (result < 0) return Damaged(fmt::format("method {:#x}", method.id));
  return method;
}

absl::StatusOr<AmqpDecoder::ContentHeader> AmqpDecoder::Header(
    std::string_view payload) {
  recycle_amqp_pool(&pool_);
  const bool is_basic = payload.size() >= kContentHead + 2 &&
                        ReadNumber(payload.substr(0, 2)) == AMQP_BASIC_CLASS;
  if (!is_basic) return Damaged("a content of another class");
  void* properties = nullptr;
  const int result = amqp_decode_properties(
      AMQP_BASIC_CLASS, &pool_, AmqpBytes(payload.substr(kContentHead)),
      &properties);
  if (result < 0) return Damaged("properties");
  return ContentHeader{ReadNumber(payload.substr(4, 8)),
                       static_cast<const amqp_basic_properties_t*>(properties)};
}

// ---- Frames for the server.

void AppendAmqpProtocolHeader(std::string& out) {
  out += std::string_view("AMQP\0\0\x09\x01", 8);
}

void AppendAmqpHeartbeat(std::string& out) {
  AppendHead(AMQP_FRAME_HEARTBEAT, 0, 0, out);
  out += kFrameEnd;
}

absl::Status AppendAmqpMethod(uint16_t channel, amqp_method_number_t id,
                              void* fields, std::string& out) {
  const size_t begin = out.size();
  out.resize(begin + kFrameHead + kMethodHead + kMaxMethod);
  char* encoded = out.data() + begin + kFrameHead + kMethodHead;
  const int size = amqp_encode_method(id, fields, {kMaxMethod, encoded});
  if (size < 0) {
    out.resize(begin);
    return absl::InvalidArgumentError(
        fmt::format("method {:#x}: {}", id, amqp_error_string2(size)));
  }
  const auto length = static_cast<size_t>(size);
  std::string head;
  AppendHead(AMQP_FRAME_METHOD, channel, kMethodHead + length, head);
  AppendNumber(id, kMethodHead, head);
  std::ranges::copy(head, out.begin() + static_cast<ptrdiff_t>(begin));
  out.resize(begin + kFrameHead + kMethodHead + length);
  out += kFrameEnd;
  return absl::OkStatus();
}

absl::Status AppendAmqpContent(uint16_t channel,
                               amqp_basic_properties_t& properties,
                               std::string_view body, size_t max_frame,
                               std::string& out) {
  const size_t begin = out.size();
  const size_t room = max_frame - kAmqpFrameOverhead - kContentHead;
  out.resize(begin + kFrameHead + kContentHead + room);
  char* encoded = out.data() + begin + kFrameHead + kContentHead;
  const int size =
      amqp_encode_properties(AMQP_BASIC_CLASS, &properties, {room, encoded});
  if (size < 0) {
    out.resize(begin);
    return absl::InvalidArgumentError(fmt::format(
        "headers and properties have more than {} bytes, the frame size of the "
        "connection",
        room));
  }
  const auto length = static_cast<size_t>(size);
  std::string head;
  AppendHead(AMQP_FRAME_HEADER, channel, kContentHead + length, head);
  AppendNumber(AMQP_BASIC_CLASS, 2, head);
  AppendNumber(0, 2, head);
  AppendNumber(body.size(), 8, head);
  std::ranges::copy(head, out.begin() + static_cast<ptrdiff_t>(begin));
  out.resize(begin + kFrameHead + kContentHead + length);
  out += kFrameEnd;
  const size_t portion = max_frame - kAmqpFrameOverhead;
  while (!body.empty()) {
    const std::string_view part = body.substr(0, portion);
    AppendHead(AMQP_FRAME_BODY, channel, part.size(), out);
    out += part;
    out += kFrameEnd;
    body.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

}  // namespace walpost::rabbitmq
