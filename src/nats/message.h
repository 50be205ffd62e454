// A record as a message of NATS.
//
//   subject              the topic
//   payload              the value; a tombstone: empty, with a header
//   Nats-Msg-Id          id and position of the event: JetStream drops a second
//                        message with the same id within the stream's window.
//                        None without a position: an id alone may come again
//                        for another event, and a record that is sent on
//                        purpose must not be dropped
//   Nats-Expected-Stream the stream that was looked at; another rejects it
//   walpost-key          the key
//   walpost-tombstone    "true"
//   walpost-timestamp    milliseconds since 1970
//   the record's headers as they are, except:
//
// A header of NATS is a line. A value that a line cannot carry (CR, LF, NUL,
// spaces at its ends, not UTF-8) is written as RFC 2047 does: =?UTF-8?B?...?=,
// or =?binary?B?...?=. In a name, bytes that none may have are %XX, and so is
// the first letter of a name that NATS or the list above uses: a row of the
// outbox cannot make JetStream purge a stream (Nats-Rollup).
//
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/record.h"

namespace walpost {

inline constexpr char kNatsKeyHeader[] = "walpost-key";
inline constexpr char kNatsTombstoneHeader[] = "walpost-tombstone";
inline constexpr char kNatsTimestampHeader[] = "walpost-timestamp";

struct NatsMessage {
  std::string subject;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string payload;

  // Bytes that count for the server's max_payload and the stream's
  // max_msg_size.
  size_t size_bytes() const { return HeaderBytes() + payload.size(); }
  size_t HeaderBytes() const;
};

// Copies the record. `stream` takes its subject. `relay`: relays of one
// database may write to one stream, each with its own name.
NatsMessage MessageOf(const Record& record, std::string_view stream,
                      std::string_view relay);

std::string HeaderName(std::string_view name);
std::string HeaderValue(std::string_view value);

}  // namespace walpost
