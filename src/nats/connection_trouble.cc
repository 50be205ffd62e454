#include "nats/connection_trouble.h"

#include "absl/strings/match.h"
#include "fmt/format.h"

namespace walpost {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return absl::StrContainsIgnoreCase({text.data(), text.size()},
                                     {part.data(), part.size()});
}

}  // namespace

ConnectionTrouble ConnectionTroubleOf(std::string_view text,
                                      std::string_view servers) {
  if (Has(text, "authorization violation") || Has(text, "authentication") ||
      Has(text, "not permitted") || Has(text, "revoked") ||
      Has(text, "nkey") || Has(text, "credentials")) {
    return {fmt::format("NATS rejects the credentials: {}; check nats.user and "
                        "nats.password, nats.token or nats.credentials_file",
                        text),
            /*is_of_credentials=*/true};
  }
  if (Has(text, "ssl") || Has(text, "tls") || Has(text, "certificate") ||
      Has(text, "secure connection")) {
    return {fmt::format("TLS with the NATS servers fails: {}; check nats.tls.* "
                        "and whether nats.servers has the names of the "
                        "certificates",
                        text),
            /*is_of_credentials=*/Has(text, "certificate")};
  }
  return {fmt::format("no NATS server of {} can be reached: {}; is "
                      "nats.servers right?",
                      servers, text),
          /*is_of_credentials=*/false};
}

std::string DeniedSubject(std::string_view text) {
  constexpr std::string_view kBegin = "ermissions Violation for Publish to \"";
  const size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = text.substr(begin + kBegin.size());
  return std::string(rest.substr(0, rest.find('"')));
}

}  // namespace walpost
