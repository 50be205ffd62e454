#include "nats/connection_trouble.h"

#include "absl/strings/ascii.h"
#include "fmt/format.h"

namespace walpost {

ConnectionTrouble ConnectionTroubleOf(std::string_view text,
                                      std::string_view servers) {
  const std::string lower = absl::AsciiStrToLower({text.data(), text.size()});
  const auto has = [&lower](const char* part) {
    return lower.find(part) != std::string::npos;
  };
  if (has("authorization violation") || has("authentication") ||
      has("not permitted") || has("revoked") || has("nkey") ||
      has("credentials")) {
    return {fmt::format("NATS rejects the credentials: {}; check nats.user and "
                        "nats.password, nats.token or nats.credentials_file",
                        text),
            /*is_of_credentials=*/true};
  }
  if (has("ssl") || has("tls") || has("certificate") ||
      has("secure connection")) {
    return {fmt::format("TLS with the NATS servers fails: {}; check nats.tls.* "
                        "and whether nats.servers has the names of the "
                        "certificates",
                        text),
            /*is_of_credentials=*/has("certificate")};
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
