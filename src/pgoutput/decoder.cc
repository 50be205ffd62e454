// The wire layouts, big-endian; String is NUL-terminated; times are
// microseconds since 2000-01-01. Tuples are laid out in tuple.h.
//
//   B Begin     Int64 commit LSN, Int64 commit time, Int32 xid
//   C Commit    Int8 flags (0), Int64 commit LSN, Int64 end LSN, Int64 time
//   O Origin    Int64 origin commit LSN, String name
//   R Relation  Int32 oid, String schema, String name, Int8 replica identity,
//               Int16 columns, each: Int8 flags (1 = key), String name,
//               Int32 type oid, Int32 type modifier
//   Y Type      Int32 oid, String schema, String name
//   I Insert    Int32 relation oid, 'N', Tuple
//   U Update    Int32 relation oid, ['K' or 'O', Tuple,] 'N', Tuple
//   D Delete    Int32 relation oid, 'K' or 'O', Tuple
//   T Truncate  Int32 n, Int8 bits (1 cascade, 2 restart identity), n * Int32
//   M Message   Int8 flags (1 = transactional), Int64 LSN, String prefix,
//               Int32 length, bytes
//
// The kinds of protocols 2 to 4 (S E c A, b P K r p) become Unknown.
#include "pgoutput/decoder.h"

#include "absl/status/status.h"
#include "fmt/format.h"

namespace walpost::pgoutput {
namespace {

Begin ReadBegin(ByteReader& reader) {
  Begin begin;
  begin.commit_lsn = Lsn(reader.ReadUint64());
  begin.commit_time = FromPostgresMicros(reader.ReadInt64());
  begin.xid = Xid(reader.ReadUint32());
  return begin;
}

Commit ReadCommit(ByteReader& reader) {
  Commit commit;
  reader.ReadUint8();  // flags: none defined
  commit.commit_lsn = Lsn(reader.ReadUint64());
  commit.end_lsn = Lsn(reader.ReadUint64());
  commit.commit_time = FromPostgresMicros(reader.ReadInt64());
  return commit;
}

Origin ReadOrigin(ByteReader& reader) {
  Origin origin;
  origin.commit_lsn = Lsn(reader.ReadUint64());
  origin.name = reader.ReadCString();
  return origin;
}

Relation ReadRelation(ByteReader& reader) {
  Relation relation;
  relation.oid = reader.ReadUint32();
  relation.schema = reader.ReadCString();
  relation.name = reader.ReadCString();
  relation.replica_identity = static_cast<char>(reader.ReadUint8());
  relation.column_count = reader.ReadUint16();
  const std::string_view columns = reader.rest();
  for (size_t i = 0; i < relation.column_count && !reader.failed(); ++i) {
    Relation::ReadColumn(reader);
  }
  if (!reader.failed()) {
    relation.column_bytes =
        columns.substr(0, columns.size() - reader.rest().size());
  }
  return relation;
}

Type ReadType(ByteReader& reader) {
  Type type;
  type.oid = reader.ReadUint32();
  type.schema = reader.ReadCString();
  type.name = reader.ReadCString();
  return type;
}

bool ReadInsert(ByteReader& reader, Insert& insert) {
  insert.relation_oid = reader.ReadUint32();
  return reader.ReadUint8() == 'N' && TupleData::Read(reader, insert.row);
}

bool ReadOldRow(ByteReader& reader, char marker, OldRow& kind, TupleData& row) {
  if (marker != 'K' && marker != 'O') return false;
  kind = marker == 'K' ? OldRow::kKey : OldRow::kFull;
  return TupleData::Read(reader, row);
}

bool ReadUpdate(ByteReader& reader, Update& update) {
  update.relation_oid = reader.ReadUint32();
  char marker = static_cast<char>(reader.ReadUint8());
  if (marker != 'N') {
    if (!ReadOldRow(reader, marker, update.old_row_kind, update.old_row)) {
      return false;
    }
    marker = static_cast<char>(reader.ReadUint8());
  }
  return marker == 'N' && TupleData::Read(reader, update.new_row);
}

bool ReadDelete(ByteReader& reader, Delete& deletion) {
  deletion.relation_oid = reader.ReadUint32();
  const char marker = static_cast<char>(reader.ReadUint8());
  return ReadOldRow(reader, marker, deletion.old_row_kind, deletion.old_row);
}

Truncate ReadTruncate(ByteReader& reader) {
  Truncate truncate;
  truncate.relation_count = reader.ReadUint32();
  const uint8_t bits = reader.ReadUint8();
  truncate.cascade = (bits & 1) != 0;
  truncate.restart_identity = (bits & 2) != 0;
  truncate.relation_oids =
      reader.ReadBytes(size_t{truncate.relation_count} * sizeof(uint32_t));
  return truncate;
}

LogicalMessage ReadLogicalMessage(ByteReader& reader) {
  LogicalMessage message;
  message.transactional = (reader.ReadUint8() & 1) != 0;
  message.lsn = Lsn(reader.ReadUint64());
  message.prefix = reader.ReadCString();
  const uint32_t length = reader.ReadUint32();
  message.content = reader.ReadBytes(length);
  return message;
}

absl::Status Damaged(char kind, size_t size) {
  return absl::DataLossError(fmt::format(
      "pgoutput message '{}' of {} bytes is damaged or cut short", kind, size));
}

// Reads the body of a kind; false if a tuple in it is malformed.
bool ReadBody(char kind, ByteReader& reader, Message& message) {
  switch (kind) {
    case 'B':
      message = ReadBegin(reader);
      return true;
    case 'C':
      message = ReadCommit(reader);
      return true;
    case 'I':
      return ReadInsert(reader, message.emplace<Insert>());
    case 'U':
      return ReadUpdate(reader, message.emplace<Update>());
    case 'D':
      return ReadDelete(reader, message.emplace<Delete>());
    case 'R':
      message = ReadRelation(reader);
      return true;
    case 'Y':
      message = ReadType(reader);
      return true;
    case 'O':
      message = ReadOrigin(reader);
      return true;
    case 'T':
      message = ReadTruncate(reader);
      return true;
    case 'M':
      message = ReadLogicalMessage(reader);
      return true;
    default:
      message = Unknown{kind};
      reader = ByteReader({});
      return true;
  }
}

}  // namespace

absl::StatusOr<Message> Decode(std::string_view payload) {
  if (payload.empty()) {
    return absl::DataLossError("pgoutput message without a kind byte");
  }
  const char kind = payload.front();
  ByteReader reader(payload.substr(1));
  absl::StatusOr<Message> message(Message{});
  if (!ReadBody(kind, reader, *message) || reader.failed() ||
      !reader.rest().empty()) {
    return Damaged(kind, payload.size());
  }
  return message;
}

}  // namespace walpost::pgoutput
