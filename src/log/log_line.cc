#include "log/log_line.h"

#include <algorithm>

namespace walpost {
namespace {

constexpr char kPartBegins = '\x1e';
constexpr char kValueBegins = '\x1f';

void Append(std::string_view part, std::string& line) {
  const auto begin = static_cast<ptrdiff_t>(line.size());
  line += part;
  std::replace_if(
      line.begin() + begin, line.end(),
      [](char c) { return c == kPartBegins || c == kValueBegins; }, '?');
}

}  // namespace

std::string Encode(std::string_view text, std::string_view text_template,
                   LogFields fields) {
  std::string line;
  Append(text, line);
  line += kPartBegins;
  Append(text_template, line);
  for (const LogField& field : fields) {
    if (field.value.empty()) continue;
    line += kPartBegins;
    line += field.name;
    line += kValueBegins;
    Append(field.value, line);
  }
  return line;
}

LogLine Decode(std::string_view queued) {
  const auto next = [&queued](char separator) {
    const size_t end = std::min(queued.find(separator), queued.size());
    const std::string_view part = queued.substr(0, end);
    queued.remove_prefix(std::min(end + 1, queued.size()));
    return part;
  };
  LogLine line;
  line.text = next(kPartBegins);
  line.text_template = next(kPartBegins);
  while (!queued.empty()) {
    const std::string_view name = next(kValueBegins);
    line.fields.push_back({name, next(kPartBegins)});
  }
  return line;
}

}  // namespace walpost
