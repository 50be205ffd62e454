// Converts the rows of CursorSql's statements to values.
#pragma once

#include "polling/cursor_position.h"
#include "polling/cursor_sql.h"
#include "postgres/connect/connection.h"

namespace walpost {

// From CursorSql::Load; without a row the position is the beginning.
CursorPosition CursorPositionFrom(const QueryRows& rows);

// From CursorSql::Now.
ServerTime ServerTimeFrom(const QueryRows& rows);

}  // namespace walpost
