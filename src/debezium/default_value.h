// The DEFAULT of a column, as far as Debezium reads it from the catalog: it
// replaces NULL in records, and stands in their schemas.
//
//   'new'::text               the constant
//   7                         likewise
//   now(), nextval('s')       a value of the type: 1970, 0, the empty text
//   gen_random_uuid()         none
//   ('a'::text || 'b'::text)  its first constant; Debezium evaluates nothing
#pragma once

#include "debezium/column_type.h"
#include "debezium/connect_value.h"
#include "debezium/row_encoder.h"
#include "debezium/text_arena.h"

namespace walpost::debezium {

// Null: the column has no default that Debezium knows. The value is valid as
// long as the column and the arena.
Value DefaultValueOf(const Column& column, const ColumnType& type,
                     TextArena& arena);

}  // namespace walpost::debezium
