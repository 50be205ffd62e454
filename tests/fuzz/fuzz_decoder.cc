// Any bytes, as a frame of the replication stream: decoded or refused, never
// more. A tuple that was accepted must be walkable to its end.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pgoutput/decoder.h"
#include "pgoutput/relation_schema.h"
#include "pgoutput/stream_frame.h"

namespace {

size_t Walk(const walpost::pgoutput::TupleData& tuple) {
  size_t bytes = 0;
  tuple.ForEach([&](size_t, const walpost::pgoutput::ColumnValue& value) {
    bytes += value.bytes.size();
  });
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walpost::pgoutput;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto frame = DecodeServerFrame(bytes);
  std::string_view payload = bytes;
  if (frame.ok() && std::holds_alternative<XLogData>(*frame)) {
    payload = std::get<XLogData>(*frame).payload;
  }
  const auto message = Decode(payload);
  if (!message.ok()) return 0;
  size_t walked = 0;
  if (const auto* insert = std::get_if<Insert>(&*message)) {
    walked = Walk(insert->row);
  } else if (const auto* update = std::get_if<Update>(&*message)) {
    walked = Walk(update->old_row) + Walk(update->new_row);
  } else if (const auto* relation = std::get_if<Relation>(&*message)) {
    walked = RelationSchema(*relation).columns.size();
  }
  if (walked > size) __builtin_trap();
  return 0;
}
