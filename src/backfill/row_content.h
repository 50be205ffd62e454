// Content and place of a row, by which a later scan recognises it. Pure.
#pragma once

#include <vector>

#include "backfill/scan_cursor.h"
#include "pgoutput/tuple.h"

namespace walpost {

// The same in every process.
ScanCursor::Content ContentOf(const pgoutput::TupleData& row);

// The values of the columns at `indexes`.
ScanCursor::Key KeyOf(const pgoutput::TupleData& row,
                      const std::vector<size_t>& indexes);

}  // namespace walpost
