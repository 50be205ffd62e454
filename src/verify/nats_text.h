// Reads the headers of a message of NATS back, as docs/nats.md writes what a
// line cannot carry. Pure.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// The value of a header: "=?UTF-8?B?<base64>?=" and "=?binary?B?<base64>?=" are
// the bytes they stand for; any other text is itself.
std::string NatsHeaderValue(std::string_view text);

// A subject with wildcards that takes every subject which begins with `prefix`,
// and perhaps others: "events.>" of "events.ord".
std::string SubjectsOfPrefix(std::string_view prefix);

}  // namespace walpost
