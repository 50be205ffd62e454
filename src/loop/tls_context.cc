#include "loop/tls_context.h"

#include <string>

#include "fmt/format.h"

namespace walpost {

namespace ssl = boost::asio::ssl;

absl::StatusOr<std::unique_ptr<ssl::context>> MakeTlsContext(
    const TlsOptions& options, std::string_view section) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  boost::system::error_code error;
  absl::Status wrong;
  const auto check = [&](std::string_view key, const std::string& path) {
    if (!error || !wrong.ok()) return;
    wrong = absl::FailedPreconditionError(
        fmt::format("{}.tls.{}: {}: {}", section, key, path, error.message()));
  };
  context->set_options(ssl::context::default_workarounds |
                       ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  context->set_verify_mode(ssl::verify_peer, error);
  if (options.ca_file.empty()) {
    context->set_default_verify_paths(error);
    check("ca_file", "the certificates of the system");
  } else {
    context->load_verify_file(options.ca_file, error);
    check("ca_file", options.ca_file);
  }
  if (!options.certificate_file.empty()) {
    context->use_certificate_chain_file(options.certificate_file, error);
    check("certificate_file", options.certificate_file);
    context->use_private_key_file(options.key_file, ssl::context::pem, error);
    check("key_file", options.key_file);
  }
  if (!wrong.ok()) return wrong;
  return context;
}

}  // namespace walpost
