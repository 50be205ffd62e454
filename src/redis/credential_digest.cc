#include "redis/credential_digest.h"

#include <fstream>
#include <sstream>
#include <string>

#include "base/status_macros.h"

namespace walpost {

absl::StatusOr<Sha256Digest> DigestCredentials(const RedisOptions& options) {
  std::string all;
  const ReloadableText* const kTexts[] = {&options.username, &options.password,
                                          &options.sentinel_username,
                                          &options.sentinel_password};
  for (const ReloadableText* text : kTexts) {
    WALPOST_ASSIGN_OR_RETURN(const std::string now, text->Read());
    all += now + '\0';
  }
  const std::string* const kFiles[] = {&options.tls_ca_file,
                                       &options.tls_certificate_file,
                                       &options.tls_key_file};
  for (const std::string* path : kFiles) {
    if (path->empty()) continue;
    std::ifstream stream(*path, std::ios::binary);
    std::ostringstream content;
    content << stream.rdbuf();
    all += std::move(content).str() + '\0';
  }
  return Sha256(all);
}

}  // namespace walpost
