// JsonLogFormatter: writes a log line as one JSON object, for log.format: json.
#pragma once

#include <memory>

#include "spdlog/formatter.h"

namespace walpost {

class JsonLogFormatter final : public spdlog::formatter {
 public:
  // Bytes of the message that are not UTF-8 become '?'.
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& line) override;
  std::unique_ptr<spdlog::formatter> clone() const override;
};

}  // namespace walpost
