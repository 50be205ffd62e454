// Message: a record as RabbitMQ gets it, as bytes of basic.publish.
//
//   topic          exchange and routing key (name_template.h)
//   key            header walpost-key
//   value          the body; NULL: no body, and header walpost-null
//   headers        headers, as byte strings; NULL: a void field
//   id, type       message-id, type
//   timestamp      timestamp, in seconds, and header timestamp_in_ms, as
//                  RabbitMQ itself names it
//   position       it is among the headers
//
// always persistent, and mandatory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "outbox/record.h"
#include "rabbitmq/name_template.h"

namespace walpost::rabbitmq {

inline constexpr char kRabbitmqKeyHeader[] = "walpost-key";
inline constexpr char kRabbitmqNullHeader[] = "walpost-null";
inline constexpr char kRabbitmqTimeHeader[] = "timestamp_in_ms";

struct MessageFormat {
  NameTemplate exchange;
  NameTemplate routing_key;
  std::string content_type;
  size_t max_message_bytes = 0;
  size_t max_frame = 0;  // of the connection
};

struct Message {
  std::string frames;
  std::string exchange;
  std::string routing_key;
  size_t body_bytes = 0;
  // Equal for what basic.return says of it (IdentityOf).
  uint64_t identity = 0;
};

// Identifies a message that the server sends back.
uint64_t IdentityOf(std::string_view routing_key, std::string_view message_id,
                    std::string_view body);

// kInvalidArgument, with a reason code: the record cannot be a message.
absl::StatusOr<Message> MakeMessage(const MessageFormat& format,
                                    uint16_t channel, const Record& record);

}  // namespace walpost::rabbitmq
