#include "pgoutput/stream_frame.h"

#include "absl/status/status.h"
#include "base/byte_reader.h"
#include "fmt/format.h"

namespace walpost::pgoutput {
namespace {

void PutUint64(char*& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    *out++ = static_cast<char>(value >> shift);
  }
}

}  // namespace

absl::StatusOr<ServerFrame> DecodeServerFrame(std::string_view bytes) {
  ByteReader reader(bytes);
  const char kind = static_cast<char>(reader.ReadUint8());
  if (kind == 'w') {
    XLogData data;
    data.start_lsn = Lsn(reader.ReadUint64());
    reader.ReadUint64();  // WAL end: same as the start LSN
    data.send_time = FromPostgresMicros(reader.ReadInt64());
    data.payload = reader.rest();
    if (!reader.failed()) return data;
  } else if (kind == 'k') {
    PrimaryKeepalive keepalive;
    keepalive.wal_end = Lsn(reader.ReadUint64());
    keepalive.send_time = FromPostgresMicros(reader.ReadInt64());
    keepalive.reply_requested = reader.ReadUint8() != 0;
    if (!reader.failed() && reader.rest().empty()) return keepalive;
  }
  return absl::DataLossError(
      fmt::format("replication frame of {} bytes with kind byte 0x{:02x} is "
                  "damaged or unknown",
                  bytes.size(), static_cast<uint8_t>(kind)));
}

std::array<char, kStandbyStatusBytes> EncodeStandbyStatus(
    const StandbyStatus& status) {
  std::array<char, kStandbyStatusBytes> bytes;
  char* out = bytes.data();
  *out++ = 'r';
  PutUint64(out, status.received.value());
  PutUint64(out, status.confirmed.value());
  PutUint64(out, status.confirmed.value());
  PutUint64(out, static_cast<uint64_t>(ToPostgresMicros(status.time)));
  *out++ = status.reply_requested ? 1 : 0;
  return bytes;
}

}  // namespace walpost::pgoutput
