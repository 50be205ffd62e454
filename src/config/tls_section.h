// Reads the section `tls` of a sink.
#pragma once

#include "config/section.h"
#include "loop/tls_options.h"

namespace walpost {

// kAlways: the client library does not connect without it, so there is no key.
enum class HostCheck { kIsAChoice, kAlways };

// Whether an address asks for TLS, as tls://HOST does: then files count without
// `enabled`.
enum class AddressScheme { kNone, kPlain, kTls };

void ReadTls(Section section, HostCheck host_check, AddressScheme scheme,
             TlsOptions& tls);

}  // namespace walpost
