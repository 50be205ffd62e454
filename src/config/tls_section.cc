#include "config/tls_section.h"

namespace walpost {

void ReadTls(Section section, HostCheck host_check, AddressScheme scheme,
             TlsOptions& tls) {
  section.Read("enabled", tls.enabled);
  section.Read("ca_file", tls.ca_file);
  section.Read("certificate_file", tls.certificate_file);
  section.Read("key_file", tls.key_file);
  if (host_check == HostCheck::kIsAChoice) {
    section.Read("verify_host", tls.verify_host);
  }
  section.Done();
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    section.Fail("certificate_file",
                 "certificate_file and key_file go together");
  }
  const bool has_files = !tls.ca_file.empty() || !tls.certificate_file.empty();
  const bool is_on = tls.enabled || scheme == AddressScheme::kTls;
  if (has_files && !is_on && !section.failed()) {
    section.Fail("enabled",
                 scheme == AddressScheme::kPlain
                     ? "is not true, and there are files for it: set it to "
                       "true, or begin an address with tls://"
                     : "is not true, and there are files for it: set it to "
                       "true");
  }
}

}  // namespace walpost
