// Which parts of the configuration nobody may see: not in --print-config, not
// in a log.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// Stands where a secret was.
inline constexpr std::string_view kHidden = "***";

// A conninfo that holds no secret comes back as it is. Otherwise it comes back
// as key=value words (also when it was a URI) of what libpq reads in it, with
// kHidden for passwords; one that libpq cannot read is hidden as a whole. No
// file that it names (passfile, service, sslkey) is read.
std::string HideConninfoSecrets(const std::string& conninfo);

// Whether the value of that librdkafka property is a secret: passwords,
// passphrases, secrets, PEM text, assertions, tokens, the SASL user name and
// configuration. Paths of key files are none.
bool IsSecretProperty(std::string_view name);

}  // namespace walpost
