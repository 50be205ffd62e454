#include "redis/tls_context.h"

#include <string>
#include <string_view>

#include "fmt/format.h"

namespace walpost {

namespace ssl = boost::asio::ssl;

absl::StatusOr<std::unique_ptr<ssl::context>> MakeTlsContext(
    const RedisOptions& options) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  boost::system::error_code error;
  absl::Status wrong;
  const auto check = [&](std::string_view key, const std::string& path) {
    if (!error || !wrong.ok()) return;
    wrong = absl::FailedPreconditionError(
        fmt::format("{}: {}: {}", key, path, error.message()));
  };
  context->set_verify_mode(ssl::verify_peer, error);
  if (options.tls_ca_file.empty()) {
    context->set_default_verify_paths(error);
    check("redis.tls_ca_file", "the certificates of the system");
  } else {
    context->load_verify_file(options.tls_ca_file, error);
    check("redis.tls_ca_file", options.tls_ca_file);
  }
  if (!options.tls_certificate_file.empty()) {
    context->use_certificate_chain_file(options.tls_certificate_file, error);
    check("redis.tls_certificate_file", options.tls_certificate_file);
    context->use_private_key_file(options.tls_key_file, ssl::context::pem,
                                  error);
    check("redis.tls_key_file", options.tls_key_file);
  }
  if (!wrong.ok()) return wrong;
  return context;
}

}  // namespace walpost
