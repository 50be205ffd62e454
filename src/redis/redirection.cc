#include "redis/redirection.h"

#include <charconv>
#include <string>

namespace walpost {

std::optional<Redirection> Redirection::Of(std::string_view error,
                                           const ServerPlace& asked) {
  const bool is_moved = error.starts_with("MOVED ");
  if (!is_moved && !error.starts_with("ASK ")) return std::nullopt;
  const std::string_view place = error.substr(error.rfind(' ') + 1);
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = place.substr(0, colon);
  const std::string_view port = place.substr(colon + 1);
  Redirection found{is_moved ? Kind::kMoved : Kind::kAsk, {}};
  const auto parsed =
      std::from_chars(port.data(), port.data() + port.size(), found.place.port);
  if (parsed.ec != std::errc() || found.place.port == 0) return std::nullopt;
  found.place.host =
      host.empty() || host == "?" ? asked.host : std::string(host);
  return found;
}

}  // namespace walpost
