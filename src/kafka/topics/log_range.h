// Offsets between which the log of a partition lies.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <string>

namespace walpost {

struct LogRange {
  int64_t begin = 0;
  int64_t end = 0;  // behind the last record, committed or not
};

// rd_kafka_query_watermark_offsets would ask for the committed end: an open
// transaction hides committed records behind it. Blocks for up to
// `timeout_millis` per end.
rd_kafka_resp_err_t QueryLogRange(rd_kafka_t* client, const std::string& topic,
                                  int partition, int timeout_millis,
                                  LogRange& range);

}  // namespace walpost
