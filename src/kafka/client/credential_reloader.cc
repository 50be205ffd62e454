#include "kafka/client/credential_reloader.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

namespace walpost {
namespace {

// Empty if the path is not a readable file, or if it is a directory of
// certificates, which OpenSSL reads for each connection.
std::string ContentOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return std::move(content).str();
}

}  // namespace

CredentialReloader::CredentialReloader(ProducerOptions options)
    : options_(std::move(options)), used_(Hash()) {}

void CredentialReloader::OnError(rd_kafka_resp_err_t code) {
  were_rejected_ |= code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
                    code == RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED ||
                    code == RD_KAFKA_RESP_ERR__SSL;
}

bool CredentialReloader::have_changed() const {
  const std::optional<size_t> now = Hash();
  return now && now != used_;
}

std::optional<size_t> CredentialReloader::Hash() const {
  std::string all;
  for (const auto& [name, value] : options_.properties) {
    const absl::StatusOr<std::string> now = value.Read();
    if (!now.ok()) return std::nullopt;
    all += name + '\0' + *now + '\0';
    if (name.ends_with(".location")) all += ContentOf(*now) + '\0';
  }
  return std::hash<std::string>()(all);
}

}  // namespace walpost
