// What a text must look like to be a slot name, a topic template, ... Each
// check returns kInvalidArgument with the problem alone; TextRule uses them.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace walpost {

absl::Status CheckNotEmpty(std::string& text);

// Parses as libpq will parse it; empty passes (Required says who needs it).
// The message does not repeat what may be a password.
absl::Status CheckConninfo(std::string& text);

// 1 to 63 of a-z, 0-9 and _: what PostgreSQL allows.
absl::Status CheckSlotName(std::string& text);

// 1 to 63 bytes, as the catalog spells it.
absl::Status CheckIdentifier(std::string& text);

// schema.table; without a schema, `public.` is put in front.
absl::Status CheckTableName(std::string& text);

// A topic template (outbox/topic_template.h) around whose values Kafka takes
// the name; the optional one may be empty.
absl::Status CheckTopic(std::string& text);
absl::Status CheckOptionalTopic(std::string& text);

// host:port or [IPv6]:port with a port from 1 to 65535; empty passes.
absl::Status CheckListen(std::string& text);

}  // namespace walpost
