#include "delivery/topic_text.h"

#include <algorithm>

#include "absl/strings/str_replace.h"

namespace walpost {

std::string EscapedTopic(std::string_view name) {
  return absl::StrReplaceAll({name.data(), name.size()},
                             {{"%", "%25"}, {",", "%2C"}, {"=", "%3D"}});
}

std::string UnescapedTopic(std::string_view text) {
  return absl::StrReplaceAll({text.data(), text.size()},
                             {{"%25", "%"}, {"%2C", ","}, {"%3D", "="}});
}

void AppendTopic(std::string_view name, std::string_view value,
                 std::string& text) {
  if (!text.empty()) text += ',';
  text += EscapedTopic(name);
  text += '=';
  text += value;
}

std::pair<std::string, std::string_view> TakeTopic(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find(','));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  const size_t equals = part.find('=');
  if (equals == std::string_view::npos) return {};
  return {UnescapedTopic(part.substr(0, equals)), part.substr(equals + 1)};
}

}  // namespace walpost
