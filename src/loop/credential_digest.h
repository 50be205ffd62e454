// A digest of everything that a connection proves itself with, to notice that
// it has changed.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "base/reloadable_text.h"
#include "base/sha256.h"
#include "loop/tls_options.h"

namespace walpost {

// Reads small files: those of `tls`, and `file` (empty: none), as far as they
// are there. kUnavailable: a text cannot be read now; names the key.
absl::StatusOr<Sha256Digest> DigestCredentials(
    std::initializer_list<const ReloadableText*> texts, const TlsOptions& tls,
    const std::string& file = "");

}  // namespace walpost
