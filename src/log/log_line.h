// LogLine: the parts of a log line, as one text for spdlog's queue.
//
//   text [RS template [RS name US value]...]
//
// RS and US are the separators of ASCII; one in a part becomes '?'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "log/log.h"

namespace walpost {

struct LogLine {
  std::string_view text;
  std::string_view text_template;  // empty: not one of Log()
  std::vector<LogField> fields = {};
};

std::string Encode(std::string_view text, std::string_view text_template,
                   LogFields fields);

// The parts refer to `queued`.
LogLine Decode(std::string_view queued);

}  // namespace walpost
