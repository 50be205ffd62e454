#include "verify/nats_text.h"

#include "absl/strings/escaping.h"

namespace walpost {

std::string NatsHeaderValue(std::string_view text) {
  constexpr std::string_view kEnd = "?=";
  for (const std::string_view begin : {"=?UTF-8?B?", "=?binary?B?"}) {
    if (!text.starts_with(begin) || !text.ends_with(kEnd)) continue;
    const std::string base64(
        text.substr(begin.size(), text.size() - begin.size() - kEnd.size()));
    std::string bytes;
    if (absl::Base64Unescape(base64, &bytes)) return bytes;
  }
  return std::string(text);
}

std::string SubjectsOfPrefix(std::string_view prefix) {
  const size_t end = prefix.rfind('.');
  if (end == std::string_view::npos) return ">";
  return std::string(prefix.substr(0, end + 1)) + ">";
}

}  // namespace walpost
