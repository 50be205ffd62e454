// ParkedTable: which table of parked events a slot has used (parking.table).
// Another table of the same name has another oid. Pure data.
#pragma once

#include <cstdint>
#include <string>

namespace walpost {

struct ParkedTable {
  std::string name;  // schema.table; empty: none
  uint32_t oid = 0;

  friend bool operator==(const ParkedTable&, const ParkedTable&) = default;
};

}  // namespace walpost
