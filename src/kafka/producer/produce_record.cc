#include "kafka/producer/produce_record.h"

#include <array>
#include <chrono>
#include <memory>
#include <span>

namespace walpost {
namespace {

constexpr char kEmpty[] = "";

// librdkafka distinguishes null from empty by the pointer.
void* PointerTo(const Value& value) {
  if (!value.has_value()) return nullptr;
  return const_cast<char*>(value->empty() ? kEmpty : value->data());
}
size_t SizeOf(const Value& value) { return value ? value->size() : 0; }

int64_t ToMillis(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             time.time_since_epoch())
      .count();
}

struct DestroyHeaders {
  void operator()(rd_kafka_headers_t* headers) const {
    rd_kafka_headers_destroy(headers);
  }
};
using Headers = std::unique_ptr<rd_kafka_headers_t, DestroyHeaders>;

Headers MakeHeaders(std::span<const RecordHeader> headers) {
  Headers list(rd_kafka_headers_new(headers.size()));
  for (const RecordHeader& header : headers) {
    rd_kafka_header_add(list.get(), header.name.data(),
                        static_cast<ssize_t>(header.name.size()),
                        PointerTo(header.value),
                        static_cast<ssize_t>(SizeOf(header.value)));
  }
  return list;
}

}  // namespace

rd_kafka_error_t* ProduceRecord(rd_kafka_t* client, rd_kafka_topic_t* topic,
                                const Record& record, Sequence sequence,
                                int32_t partition) {
  Headers headers = MakeHeaders(record.headers);
  std::array<rd_kafka_vu_t, 8> arguments;
  arguments[0].vtype = RD_KAFKA_VTYPE_RKT;
  arguments[0].u.rkt = topic;
  arguments[1].vtype = RD_KAFKA_VTYPE_KEY;
  arguments[1].u.mem = {PointerTo(record.key), SizeOf(record.key)};
  arguments[2].vtype = RD_KAFKA_VTYPE_VALUE;
  arguments[2].u.mem = {PointerTo(record.value), SizeOf(record.value)};
  arguments[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  arguments[3].u.i = RD_KAFKA_MSG_F_COPY;
  arguments[4].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  arguments[4].u.i64 = ToMillis(record.timestamp);
  arguments[5].vtype = RD_KAFKA_VTYPE_OPAQUE;
  arguments[5].u.ptr = reinterpret_cast<void*>(sequence);
  // As a whole list: librdkafka before 2.12 frees single headers twice if the
  // record is rejected.
  arguments[6].vtype = RD_KAFKA_VTYPE_HEADERS;
  arguments[6].u.headers = headers.get();
  arguments[7].vtype = RD_KAFKA_VTYPE_PARTITION;
  arguments[7].u.i32 = partition != RD_KAFKA_PARTITION_UA
                           ? partition
                           : record.partition.value_or(partition);
  rd_kafka_error_t* error =
      rd_kafka_produceva(client, arguments.data(), arguments.size());
  if (error == nullptr) (void)headers.release();  // they are the record's now
  return error;
}

}  // namespace walpost
