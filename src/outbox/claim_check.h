// ClaimCheck: the reference that a record has in place of a large payload,
// which stays in its row (outbox.tables[].claim_check_above).
//
//   walpost-claim-check:
//     {"table":"public.outbox","id":"7","bytes":20971520,"sha256":"9f86d0..."}
//
// A consumer reads the payload of the row with this id. Its length and digest
// are those of the bytes that the record would have had.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/sha256.h"

namespace walpost {

struct ClaimCheck {
  std::string table;  // schema.table
  std::string id;
  uint64_t bytes = 0;
  Sha256Digest sha256{};
};

ClaimCheck MakeClaimCheck(std::string_view table, std::string_view id,
                          std::string_view payload);

// The header's value. An id that is not UTF-8 is given with question marks; the
// header `id` has its bytes.
std::string ToJson(const ClaimCheck& check);

// kInvalidArgument: it is not such a text.
absl::StatusOr<ClaimCheck> ParseClaimCheck(std::string_view json);

}  // namespace walpost
