// From the rows that CursorSql's statements give to values.
#pragma once

#include "polling/cursor_position.h"
#include "polling/cursor_sql.h"
#include "postgres/connection.h"

namespace walpost {

// Of CursorSql::Load; without a row the position is at the very beginning.
CursorPosition CursorPositionFrom(const QueryRows& rows);

// Of CursorSql::Now.
ServerTime ServerTimeFrom(const QueryRows& rows);

}  // namespace walpost
