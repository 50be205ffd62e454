#include "app/process/json_log_formatter.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "base/utf8.h"
#include "spdlog/details/log_msg.h"

namespace walpost {

namespace {

constexpr char kTimeFormat[] = "%Y-%m-%dT%H:%M:%E3SZ";

}  // namespace

void JsonLogFormatter::format(const spdlog::details::log_msg& message,
                              spdlog::memory_buf_t& line) {
  const std::string time = absl::FormatTime(
      kTimeFormat, absl::FromChrono(message.time), absl::UTCTimeZone());
  const auto level = spdlog::level::to_string_view(message.level);
  const std::string_view payload(message.payload.data(),
                                 message.payload.size());
  const std::string text = ValidUtf8(payload, payload.size());
  rapidjson::StringBuffer json;
  rapidjson::Writer<rapidjson::StringBuffer> writer(json);
  const auto write = [&writer](std::string_view name, std::string_view value) {
    writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  writer.StartObject();
  write("time", time);
  write("level", std::string_view(level.data(), level.size()));
  write("message", text);
  writer.EndObject();
  line.append(json.GetString(), json.GetString() + json.GetSize());
  line.push_back('\n');
}

std::unique_ptr<spdlog::formatter> JsonLogFormatter::clone() const {
  return std::make_unique<JsonLogFormatter>();
}

}  // namespace walpost
