#include "config/key_description.h"

namespace walpost {

std::string PathInEachEntry(std::string_view path) {
  const size_t bracket = path.find('[');
  if (bracket == std::string_view::npos) return std::string(path);
  return std::string(path.substr(0, bracket)) + "[]" +
         std::string(path.substr(path.find(']') + 1));
}

}  // namespace walpost
