#include "loop/credential_digest.h"

#include <fstream>
#include <sstream>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string ContentOf(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  return std::move(content).str();
}

}  // namespace

absl::StatusOr<Sha256Digest> DigestCredentials(
    std::initializer_list<const ReloadableText*> texts, const TlsOptions& tls,
    const std::string& file) {
  std::string all;
  const auto add = [&all](const std::string& part) {
    all += fmt::format("{}:{}", part.size(), part);
  };
  for (const ReloadableText* text : texts) {
    WALPOST_ASSIGN_OR_RETURN(const std::string now, text->Read());
    add(now);
  }
  for (const std::string* path :
       {&tls.ca_file, &tls.certificate_file, &tls.key_file, &file}) {
    add(ContentOf(*path));
  }
  return Sha256(all);
}

}  // namespace walpost
