#include "verify/expired_rows.h"

#include <librdkafka/rdkafka.h>

#include <limits>

#include "fmt/format.h"

namespace walpost {
namespace {

// The oldest events that each partition has left. Transactions do not commit in
// the order of their numbers, so the youngest of the first percent counts; the
// first record alone, if there are few.
constexpr char kEdges[] = R"(
  CREATE INDEX found_place ON found (topic, "partition", "offset");
  CREATE TABLE sizes AS
    SELECT topic, count(*) AS partitions FROM partitions GROUP BY topic;
  CREATE TABLE unhashed AS
    SELECT DISTINCT found.topic FROM found
    JOIN sizes ON sizes.topic = found.topic
    WHERE key_hash IS NOT NULL AND "partition" <> key_hash % partitions;
  CREATE TABLE left_over AS
    SELECT found.topic, "partition", written, row_order,
      row_number() OVER place AS number,
      count(*) OVER (PARTITION BY found.topic, "partition") AS total
    FROM found JOIN expected ON expected.id = found.id
      AND expected.is_matched AND expected.topic IS found.topic
    WHERE found.is_matched AND NOT is_replayed AND written IS NOT NULL
    WINDOW place AS (PARTITION BY found.topic, "partition" ORDER BY "offset");
  CREATE TABLE edges AS
    SELECT topic, "partition", max(written) AS written, row_order
    FROM left_over WHERE number <= 1 + min(100, total / 100)
    GROUP BY topic, "partition";
  CREATE TABLE unmatched AS
    SELECT expected.rowid AS row,
      row_number() OVER (PARTITION BY expected.topic,
        iif(partitions = 1, 0, key_hash % partitions)
        ORDER BY written, row_order) AS number
    FROM expected JOIN sizes ON sizes.topic = expected.topic
    WHERE NOT is_matched AND came_through;
  CREATE INDEX unmatched_row ON unmatched (row);
)";

// {}: what tells that a row was sent whose partition has nothing left. Of a
// partition, no more rows than offsets are gone.
constexpr char kRetention[] = R"(
  UPDATE expected SET is_expired = 1
  WHERE NOT is_matched AND came_through AND EXISTS (
    SELECT 1 FROM partitions
    JOIN sizes ON sizes.topic = partitions.topic
    LEFT JOIN edges ON edges.topic = partitions.topic
      AND edges."partition" = partitions."partition"
    WHERE partitions.topic = expected.topic AND "begin" > 0
      AND (key_hash IS NULL AND sizes.partitions > 1
        OR (sizes.partitions = 1
            OR partitions."partition" = key_hash % sizes.partitions)
          AND "begin" >= (
            SELECT number FROM unmatched WHERE row = expected.rowid)
        OR expected.topic IN (SELECT topic FROM unhashed))
      AND iif(edges.written IS NULL, {},
        expected.written < edges.written
        OR expected.written = edges.written AND
          ifnull(expected.row_order <= edges.row_order, 1)));
)";

constexpr char kLaterRecord[] = R"(
  must_be_there OR EXISTS (SELECT 1 FROM left_over AS other
    WHERE other.written > expected.written
      OR other.written = expected.written
        AND other.row_order > expected.row_order))";

// A tombstone may be gone, too, with all events of its key.
constexpr char kCompaction[] = R"(
  CREATE INDEX expected_key ON expected (topic, key);
  CREATE INDEX found_key ON found (topic, key);
  UPDATE expected SET is_expired = 1
  WHERE NOT is_matched AND came_through AND key IS NOT NULL
    AND topic IN (SELECT topic FROM compacted)
    AND (EXISTS (
        SELECT 1 FROM expected AS later
        WHERE later.topic = expected.topic AND later.key = expected.key
          AND (later.is_matched
            OR later.value_is_known AND later.value_hash IS NULL)
          AND (later.written > expected.written
            OR later.written = expected.written
              AND later.row_order > expected.row_order))
      OR key_is_known AND value_is_known AND value_hash IS NULL AND NOT EXISTS (
        SELECT 1 FROM found
        WHERE found.topic = expected.topic AND found.key = expected.key));
)";

}  // namespace

std::string MarkExpiredSql(SentBy sent_by) {
  return kEdges +
         fmt::format(kRetention, sent_by == SentBy::kConfirmation
                                     ? "must_be_there"
                                     : kLaterRecord) +
         kCompaction;
}

int32_t PartitionHash(const void* key, size_t size) {
  return rd_kafka_msg_partitioner_murmur2(nullptr, key, size,
                                          std::numeric_limits<int32_t>::max(),
                                          nullptr, nullptr);
}

}  // namespace walpost
