// TLS of a connection to brokers: keys `tls.*` of a sink's section.
#pragma once

#include <string>

namespace walpost {

struct TlsOptions {
  // The server's certificate is verified in any case.
  bool enabled = false;
  // PEM files. Without authorities, those of the system count.
  std::string ca_file = {};
  std::string certificate_file = {};  // walpost's own, with its chain
  std::string key_file = {};
  // The certificate must be for the host that walpost connects to.
  bool verify_host = true;
};

}  // namespace walpost
