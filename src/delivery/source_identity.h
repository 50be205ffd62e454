// SourceIdentity: which server a checkpoint is asked for.
#pragma once

#include <string>

namespace walpost {

struct SourceIdentity {
  // As IDENTIFY_SYSTEM names it; empty: not known.
  std::string system_identifier;
  // The server has a birth record of the slot under this identifier, so a
  // checkpoint of another system does not concern it.
  bool has_birth_record = false;
};

}  // namespace walpost
