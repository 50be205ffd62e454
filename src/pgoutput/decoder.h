// Decode: reads one pgoutput message from the payload of one XLogData frame.
//
// Protocol version 1 (PostgreSQL manual, "Logical Replication Message
// Formats"). Pure: no state, no allocation, safe on any bytes.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "pgoutput/message.h"

namespace walpost::pgoutput {

// The message is a view into `payload`.
//
// kDataLoss: the message is cut short, too long, or holds a value that no
// server sends. The stream cannot be trusted any more: reconnect and receive it
// again; at the second time at the same place an operator must act. An unknown
// kind is not an error but an Unknown message.
absl::StatusOr<Message> Decode(std::string_view payload);

}  // namespace walpost::pgoutput
