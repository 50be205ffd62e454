// An OAUTHBEARER token as a program printed it (kafka.token_command), and its
// expiry. Programs print one of:
//
//   eyJhbGciOi...                        a JSON web token: its claim `exp`
//   aHR0cHM6Ly9rYWZrYS...                Amazon MSK's: a signed URL in base64,
//                                        with X-Amz-Date and X-Amz-Expires
//   ('aHR0cHM6Ly9...', 1795859366000)    the same from aws_msk_get_auth_token
//   {"access_token": "...", "expires_in": 3599, ...}
//                                        an OAuth endpoint's answer
//
// An object has the token in `access_token`, `accessToken` or `token`; its
// lifetime in `expires_in` or `expiresIn` (seconds), or its end in
// `expires_at`, `expires_on`, `expiration_ms` or `expirationMs` (seconds or
// milliseconds since 1970, which their size tells apart), or only in the token
// itself. A number may be written as a text. Of several ends, the earliest
// counts. It may also have `principal`, and `extensions`: an object of texts,
// which go to the brokers with the token (RFC 7628, 3.1).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace walpost {

struct BearerToken {
  std::string value;
  WallTime expires_at;
  std::string principal;  // or the claim `sub`; empty: not known
  std::vector<std::pair<std::string, std::string>> extensions;
};

// kInvalidArgument: `printed` is not a token, has no end that can be known, or
// has expired. The message continues "PROGRAM ...", says what to print instead,
// and quotes nothing of `printed`.
absl::StatusOr<BearerToken> ParseBearerToken(std::string_view printed,
                                             WallTime now);

}  // namespace walpost
