#include "postgres/connect/connect_hint.h"

#include "fmt/format.h"

namespace walpost {
namespace {

struct Cause {
  std::string_view words;  // in the message; the first matching row counts
  std::string_view hint;
};

constexpr std::string_view kClientCertificate =
    "the server rejects the certificate in sslcert: it must be issued by an "
    "authority in the server's ssl_ca_file, and must not have expired";

constexpr Cause kCauses[] = {
    // libpq does not say which of the two it is.
    {"certificate verify failed",
     "the certificate of the server is not issued by an authority in "
     "sslrootcert, or it has expired: openssl s_client -starttls postgres "
     "-connect {0}:{1} </dev/null | openssl x509 -noout -issuer -dates"},
    {"does not match host name",
     "set host to a name of the certificate; hostaddr may keep the address"},
    {"alert unknown ca", kClientCertificate},
    {"alert certificate expired", kClientCertificate},
    {"alert bad certificate", kClientCertificate},
    {"requires a valid client certificate",
     "set sslcert and sslkey in postgres.conninfo"},
    {"root certificate file",
     "set sslrootcert in postgres.conninfo to the certificate of the "
     "authority that issued the server's"},
    {"no encryption",
     "pg_hba.conf has hostssl lines alone for this user: set "
     "sslmode=verify-full and sslrootcert in postgres.conninfo"},
    {"server does not support SSL",
     "set ssl = on at the server, with ssl_cert_file and ssl_key_file"},
};

}  // namespace

std::string ConnectHint(std::string_view message, std::string_view host,
                        std::string_view port) {
  for (const Cause& cause : kCauses) {
    if (message.find(cause.words) != std::string_view::npos) {
      return fmt::format(fmt::runtime(cause.hint), host, port);
    }
  }
  return "";
}

}  // namespace walpost
