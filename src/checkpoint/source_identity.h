// SourceIdentity: the server that a checkpoint is loaded for.
#pragma once

#include <string>

namespace walpost {

struct SourceIdentity {
  // From IDENTIFY_SYSTEM; empty: not known.
  std::string system_identifier;
  // The server has a birth record of the slot under this identifier, so
  // checkpoints of another system do not matter.
  bool has_birth_record = false;
};

}  // namespace walpost
