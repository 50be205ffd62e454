#include "rabbitmq/message.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "absl/hash/hash.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "rabbitmq/amqp_codec.h"

namespace walpost::rabbitmq {
namespace {

constexpr size_t kMaxShortString = 255;
constexpr uint8_t kPersistent = 2;
constexpr char kContentTypeHeader[] = "content-type";

amqp_table_entry_t Entry(std::string_view name, uint8_t kind) {
  amqp_table_entry_t entry{};
  entry.key = AmqpBytes(name);
  entry.value.kind = kind;
  return entry;
}

amqp_table_entry_t BytesEntry(std::string_view name, std::string_view value) {
  amqp_table_entry_t entry = Entry(name, AMQP_FIELD_KIND_UTF8);
  entry.value.value.bytes = AmqpBytes(value);
  return entry;
}

// RabbitMQ reads further routing keys from these, and only from arrays.
bool IsRoutingHeader(std::string_view name) {
  return name == "CC" || name == "BCC";
}

absl::Status CheckHeader(std::string_view name) {
  if (name.size() > kMaxShortString) {
    return Undeliverable(kReasonRecordRefused,
                         fmt::format("the name of a header has {} bytes, and "
                                     "AMQP takes {}",
                                     name.size(), kMaxShortString));
  }
  if (IsRoutingHeader(name)) {
    return Undeliverable(kReasonRecordRefused,
                         fmt::format("header {}: RabbitMQ takes it for routing "
                                     "keys; name it otherwise",
                                     name));
  }
  return absl::OkStatus();
}

absl::Status CheckName(std::string_view what, std::string_view name) {
  if (name.size() <= kMaxShortString) return absl::OkStatus();
  return Undeliverable(kReasonTopicIllegal,
                       fmt::format("the {} has {} bytes, and AMQP takes {}",
                                   what, name.size(), kMaxShortString));
}

class Properties {
 public:
  Properties(const MessageFormat& format, const Record& record) {
    entries_.reserve(record.headers.size() + 3);
    std::string_view content_type = format.content_type;
    for (const RecordHeader& header : record.headers) {
      const bool fits = header.value && header.value->size() <= kMaxShortString;
      if (fits && header.name == kContentTypeHeader) {
        content_type = *header.value;
      }
      entries_.push_back(header.value
                             ? BytesEntry(header.name, *header.value)
                             : Entry(header.name, AMQP_FIELD_KIND_VOID));
    }
    if (record.key) {
      entries_.push_back(BytesEntry(kRabbitmqKeyHeader, *record.key));
    }
    if (!record.value) {
      entries_.push_back(Entry(kRabbitmqNullHeader, AMQP_FIELD_KIND_BOOLEAN));
      entries_.back().value.value.boolean = 1;
    }
    const auto since_1970 = record.timestamp.time_since_epoch();
    entries_.push_back(Entry(kRabbitmqTimeHeader, AMQP_FIELD_KIND_I64));
    entries_.back().value.value.i64 =
        std::chrono::floor<std::chrono::milliseconds>(since_1970).count();
    properties_._flags = AMQP_BASIC_HEADERS_FLAG |
                         AMQP_BASIC_DELIVERY_MODE_FLAG |
                         AMQP_BASIC_TIMESTAMP_FLAG;
    properties_.headers = {static_cast<int>(entries_.size()), entries_.data()};
    properties_.delivery_mode = kPersistent;
    properties_.timestamp = static_cast<uint64_t>(std::max<int64_t>(
        std::chrono::floor<std::chrono::seconds>(since_1970).count(), 0));
    Set(content_type, AMQP_BASIC_CONTENT_TYPE_FLAG, properties_.content_type);
    Set(record.type, AMQP_BASIC_TYPE_FLAG, properties_.type);
    Set(record.id, AMQP_BASIC_MESSAGE_ID_FLAG, properties_.message_id);
  }

  amqp_basic_properties_t& get() { return properties_; }
  std::string_view message_id() const {
    return AmqpView(properties_.message_id);
  }

 private:
  // A longer value is left out: the property is a short string.
  void Set(const Value& value, amqp_flags_t flag, amqp_bytes_t& property) {
    if (!value || value->empty() || value->size() > kMaxShortString) return;
    property = AmqpBytes(*value);
    properties_._flags |= flag;
  }

  std::vector<amqp_table_entry_t> entries_;
  amqp_basic_properties_t properties_{};
};

}  // namespace

uint64_t IdentityOf(std::string_view routing_key, std::string_view message_id,
                    std::string_view body) {
  return absl::HashOf(routing_key, message_id, body);
}

absl::StatusOr<Message> MakeMessage(const MessageFormat& format,
                                    uint16_t channel, const Record& record) {
  const std::string_view body = record.value.value_or("");
  if (body.size() > format.max_message_bytes) {
    return Undeliverable(kReasonRecordTooLarge,
                         fmt::format("a message of {} bytes is larger than "
                                     "rabbitmq.max_message_bytes ({}): raise "
                                     "it, up to max_message_size of the server",
                                     body.size(), format.max_message_bytes));
  }
  for (const RecordHeader& header : record.headers) {
    WALPOST_RETURN_IF_ERROR(CheckHeader(header.name));
  }
  Message message;
  message.exchange = format.exchange.Expand(record);
  message.routing_key = format.routing_key.Expand(record);
  message.body_bytes = body.size();
  WALPOST_RETURN_IF_ERROR(CheckName("name of the exchange", message.exchange));
  WALPOST_RETURN_IF_ERROR(CheckName("routing key", message.routing_key));
  amqp_basic_publish_t publish{};
  publish.exchange = AmqpBytes(message.exchange);
  publish.routing_key = AmqpBytes(message.routing_key);
  publish.mandatory = 1;
  WALPOST_RETURN_IF_ERROR(AppendAmqpMethod(channel, AMQP_BASIC_PUBLISH_METHOD,
                                           publish, message.frames));
  Properties properties(format, record);
  const absl::Status appended = AppendAmqpContent(
      channel, properties.get(), body, format.max_frame, message.frames);
  if (!appended.ok()) {
    return Undeliverable(kReasonRecordTooLarge,
                         std::string(appended.message()));
  }
  message.frames.shrink_to_fit();
  message.identity =
      IdentityOf(message.routing_key, properties.message_id(), body);
  return message;
}

}  // namespace walpost::rabbitmq
