#include "config/tls_section.h"

namespace walpost {

void ReadTls(Section section, HostCheck host_check, TlsOptions& tls) {
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
  if (has_files && !tls.enabled && !section.failed()) {
    section.Fail("enabled", "is not true, and there are files for it");
  }
}

}  // namespace walpost
