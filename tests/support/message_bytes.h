// Hand-built bytes of the replication protocol, for tests of what reads them.
//
//   InsertMessage(16384, {Text("42"), Null()})
//
// gives what the server puts on the wire for that row: the payload of an
// XLogData frame. XLogDataFrame() puts the frame around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/lsn.h"

namespace walpost::testing {

class ByteWriter {
 public:
  ByteWriter& Char(char value) {
    bytes_ += value;
    return *this;
  }
  ByteWriter& Uint8(uint8_t value) { return BigEndian(value, 1); }
  ByteWriter& Uint16(uint16_t value) { return BigEndian(value, 2); }
  ByteWriter& Uint32(uint32_t value) { return BigEndian(value, 4); }
  ByteWriter& Uint64(uint64_t value) { return BigEndian(value, 8); }
  ByteWriter& Int64(int64_t value) {
    return Uint64(static_cast<uint64_t>(value));
  }
  ByteWriter& Position(Lsn lsn) { return Uint64(lsn.value()); }
  ByteWriter& Raw(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  ByteWriter& CString(std::string_view value) { return Raw(value).Char('\0'); }

  const std::string& bytes() const { return bytes_; }

 private:
  ByteWriter& BigEndian(uint64_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
      bytes_ += static_cast<char>(value >> shift);
    }
    return *this;
  }

  std::string bytes_;
};

// One column of a tuple.
struct Cell {
  char kind;
  std::string bytes;
};

inline Cell Text(std::string_view text) { return {'t', std::string(text)}; }
inline Cell Binary(std::string_view data) { return {'b', std::string(data)}; }
inline Cell Null() { return {'n', {}}; }
inline Cell Unchanged() { return {'u', {}}; }

using Cells = std::vector<Cell>;

inline std::string TupleBytes(const Cells& cells) {
  ByteWriter out;
  out.Uint16(static_cast<uint16_t>(cells.size()));
  for (const Cell& cell : cells) {
    out.Char(cell.kind);
    if (cell.kind == 't' || cell.kind == 'b') {
      out.Uint32(static_cast<uint32_t>(cell.bytes.size())).Raw(cell.bytes);
    }
  }
  return out.bytes();
}

inline std::string BeginMessage(Lsn commit_lsn, int64_t commit_micros = 0,
                                uint32_t xid = 7) {
  ByteWriter out;
  out.Char('B').Position(commit_lsn).Int64(commit_micros).Uint32(xid);
  return out.bytes();
}

inline std::string CommitMessage(Lsn commit_lsn, Lsn end_lsn,
                                 int64_t commit_micros = 0) {
  ByteWriter out;
  out.Char('C').Uint8(0).Position(commit_lsn).Position(end_lsn);
  return out.Int64(commit_micros).bytes();
}

inline std::string OriginMessage(Lsn commit_lsn, std::string_view name) {
  ByteWriter out;
  return out.Char('O').Position(commit_lsn).CString(name).bytes();
}

struct ColumnSpec {
  std::string name;
  uint32_t type_oid = 25;  // text
  bool is_key = false;
  int32_t type_modifier = -1;
};

inline std::string RelationMessage(uint32_t oid, std::string_view schema,
                                   std::string_view name,
                                   const std::vector<ColumnSpec>& columns,
                                   char replica_identity = 'd') {
  ByteWriter out;
  out.Char('R').Uint32(oid).CString(schema).CString(name);
  out.Char(replica_identity).Uint16(static_cast<uint16_t>(columns.size()));
  for (const ColumnSpec& column : columns) {
    out.Uint8(column.is_key ? 1 : 0).CString(column.name);
    out.Uint32(column.type_oid);
    out.Uint32(static_cast<uint32_t>(column.type_modifier));
  }
  return out.bytes();
}

inline std::string TypeMessage(uint32_t oid, std::string_view schema,
                               std::string_view name) {
  ByteWriter out;
  return out.Char('Y').Uint32(oid).CString(schema).CString(name).bytes();
}

inline std::string InsertMessage(uint32_t relation_oid, const Cells& row) {
  ByteWriter out;
  out.Char('I').Uint32(relation_oid).Char('N').Raw(TupleBytes(row));
  return out.bytes();
}

// `old_row_marker` is 'K', 'O', or 0 for an update without an old row.
inline std::string UpdateMessage(uint32_t relation_oid, char old_row_marker,
                                 const Cells& old_row, const Cells& new_row) {
  ByteWriter out;
  out.Char('U').Uint32(relation_oid);
  if (old_row_marker != 0) out.Char(old_row_marker).Raw(TupleBytes(old_row));
  return out.Char('N').Raw(TupleBytes(new_row)).bytes();
}

inline std::string DeleteMessage(uint32_t relation_oid, char old_row_marker,
                                 const Cells& old_row) {
  ByteWriter out;
  out.Char('D').Uint32(relation_oid).Char(old_row_marker);
  return out.Raw(TupleBytes(old_row)).bytes();
}

inline std::string TruncateMessage(uint8_t option_bits,
                                   const std::vector<uint32_t>& relations) {
  ByteWriter out;
  out.Char('T').Uint32(static_cast<uint32_t>(relations.size()));
  out.Uint8(option_bits);
  for (const uint32_t relation : relations) out.Uint32(relation);
  return out.bytes();
}

inline std::string LogicalMessageMessage(bool transactional, Lsn lsn,
                                         std::string_view prefix,
                                         std::string_view content) {
  ByteWriter out;
  out.Char('M').Uint8(transactional ? 1 : 0).Position(lsn).CString(prefix);
  out.Uint32(static_cast<uint32_t>(content.size())).Raw(content);
  return out.bytes();
}

inline std::string XLogDataFrame(Lsn start, int64_t send_micros,
                                 std::string_view payload) {
  ByteWriter out;
  out.Char('w').Position(start).Position(start).Int64(send_micros);
  return out.Raw(payload).bytes();
}

inline std::string KeepaliveFrame(Lsn wal_end, int64_t send_micros,
                                  bool reply_requested) {
  ByteWriter out;
  out.Char('k').Position(wal_end).Int64(send_micros);
  return out.Uint8(reply_requested ? 1 : 0).bytes();
}

}  // namespace walpost::testing
