#include "polling/cursor_rows.h"

#include <optional>
#include <string>

namespace walpost {
namespace {

std::optional<int64_t> Place(const QueryRows& rows, size_t column) {
  if (!rows.Get(0, column)) return std::nullopt;
  return rows.Integer(0, column);
}

}  // namespace

CursorPosition CursorPositionFrom(const QueryRows& rows) {
  CursorPosition position;
  if (rows.size() == 0) return position;
  position.system_identifier = rows.Text(0, 0);
  position.window_from = rows.Unsigned(0, 1);
  position.window_to = rows.Unsigned(0, 2);
  position.last_place = Place(rows, 3);
  position.highest_place = Place(rows, 4);
  position.floor_place = Place(rows, 5);
  return position;
}

ServerTime ServerTimeFrom(const QueryRows& rows) {
  ServerTime time;
  time.system_identifier = rows.Text(0, 0);
  time.xmin = rows.Unsigned(0, 1);
  time.xmax = rows.Unsigned(0, 2);
  time.highest_foreign_place = Place(rows, 3);
  return time;
}

}  // namespace walpost
