#include "log/log_format.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "absl/time/time.h"
#include "base/utf8.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string FormatTime(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time),
                          absl::UTCTimeZone());
}

}  // namespace

std::string FormatAsText(const LogStamp& stamp, std::string_view text) {
  return fmt::format("{} {} {}\n", FormatTime(stamp.time),
                     NameIn(kLogLevels, stamp.level), text);
}

std::string FormatAsJson(const LogStamp& stamp, const LogLine& line,
                         std::string_view slot) {
  rapidjson::StringBuffer json;
  rapidjson::Writer<rapidjson::StringBuffer> writer(json);
  const auto write = [&writer](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    const std::string text = ValidUtf8(value, value.size());
    writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  };
  writer.StartObject();
  write("time", FormatTime(stamp.time));
  write("level", NameIn(kLogLevels, stamp.level));
  write("message", line.text);
  write("template", line.text_template);
  write("slot", slot);
  for (const LogField& field : line.fields) write(field.name, field.value);
  writer.EndObject();
  return std::string(json.GetString(), json.GetSize()) + "\n";
}

}  // namespace walpost
