// ${env:NAME} and ${file:PATH} inside a conninfo: values are quoted for the
// place where they stand, so that a password may have any character.
//
//   password=${env:PW}                  blanks, ' and \ are escaped
//   password='${env:PW}'                ' and \ are escaped
//   postgresql://u:${env:PW}@host/db    percent-encoded
//   ${env:DATABASE_URL}                 as it is: the whole conninfo
//   ${env:BASE} sslmode=require         as it is: settings
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/substitution.h"

namespace walpost {

// As Substitute. Also kInvalidArgument if a value cannot be quoted because it
// has a NUL.
absl::StatusOr<std::string> SubstituteInConninfo(
    std::string_view text, const Environment& environment);

}  // namespace walpost
