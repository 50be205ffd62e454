// What tells a row of a scan from others: its content, and its place in the
// order. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/scan_place.h"
#include "pgoutput/tuple.h"

namespace walpost {

// Its id, and a hash over all columns. The same in every process.
std::string ContentOf(const pgoutput::TupleData& row, std::string_view id);

// The values of the columns at `indexes`.
ScanPlace::Key KeyOf(const pgoutput::TupleData& row,
                     const std::vector<size_t>& indexes);

}  // namespace walpost
