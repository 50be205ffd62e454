// The messages of the pgoutput plugin, protocol version 1.
//
// Layouts are in decoder.cc. Every message is a view into the bytes it was
// decoded from, and valid as long as they are; nothing is allocated.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/byte_reader.h"
#include "base/lsn.h"
#include "base/time.h"
#include "base/xid.h"
#include "pgoutput/tuple.h"

namespace walpost::pgoutput {

struct Begin {
  Lsn commit_lsn;  // called final_lsn on the wire; equals Commit::commit_lsn
  WallTime commit_time;
  Xid xid;
};

struct Commit {
  Lsn commit_lsn;  // start of the commit record
  Lsn end_lsn;     // first byte after it: the LSN to confirm
  WallTime commit_time;
};

struct Origin {
  Lsn commit_lsn;
  std::string_view name;
};

struct Column {
  bool is_key = false;
  std::string_view name;
  uint32_t type_oid = 0;
  int32_t type_modifier = -1;
};

// Describes a table; sent before its first row on a connection, and again
// whenever the server's cache of it was invalidated.
struct Relation {
  uint32_t oid = 0;
  std::string_view schema;  // empty: pg_catalog
  std::string_view name;
  char replica_identity = 'd';
  size_t column_count = 0;
  std::string_view column_bytes;  // checked by the decoder

  // Calls visit(Column) for every column, in tuple order.
  template <typename Visitor>
  void ForEachColumn(Visitor&& visit) const {
    ByteReader reader(column_bytes);
    for (size_t i = 0; i < column_count; ++i) visit(ReadColumn(reader));
  }

  static Column ReadColumn(ByteReader& reader) {
    Column column;
    column.is_key = (reader.ReadUint8() & 1) != 0;
    column.name = reader.ReadCString();
    column.type_oid = reader.ReadUint32();
    column.type_modifier = static_cast<int32_t>(reader.ReadUint32());
    return column;
  }
};

struct Type {
  uint32_t oid = 0;
  std::string_view schema;
  std::string_view name;
};

struct Insert {
  uint32_t relation_oid = 0;
  TupleData row;
};

// Old row of an UPDATE or DELETE; depends on the replica identity.
enum class OldRow : uint8_t { kNone, kKey, kFull };

struct Update {
  uint32_t relation_oid = 0;
  OldRow old_row_kind = OldRow::kNone;
  TupleData old_row;
  TupleData new_row;
};

struct Delete {
  uint32_t relation_oid = 0;
  OldRow old_row_kind = OldRow::kKey;
  TupleData old_row;
};

struct Truncate {
  uint32_t relation_count = 0;
  bool cascade = false;
  bool restart_identity = false;
  std::string_view relation_oids;  // relation_count big-endian Int32
};

// From pg_logical_emit_message().
struct LogicalMessage {
  bool transactional = false;
  Lsn lsn;
  std::string_view prefix;
  std::string_view content;
};

// A kind that protocol 1 does not use (PostgreSQL 18 nevertheless sends a stray
// Stream Abort), or that is newer than this decoder. Count and skip it.
struct Unknown {
  char kind = 0;
};

using Message = std::variant<Begin, Commit, Origin, Relation, Type, Insert,
                             Update, Delete, Truncate, LogicalMessage, Unknown>;

}  // namespace walpost::pgoutput
