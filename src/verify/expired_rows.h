// Rows whose records Kafka has deleted: by retention, by compaction, or because
// somebody asked for it. They were delivered, so they are not missing.
//
//   a row without a record
//     ├─ its partition begins later, and the row is older than what is left
//     └─ its topic is compacted, and its key has a later event
//
// Age is that of the inserting transaction: the server gives it, and no
// application can set it. Pure: it makes SQL for AuditDatabase.
#pragma once

#include <cstdint>
#include <string>

namespace walpost {

// A partition of a topic that was read.
struct PartitionStart {
  std::string topic;
  int32_t partition = 0;
  int64_t begin = 0;  // offset; 0: nothing was deleted from its beginning
  int64_t end = 0;
};

// How it is known that a row was sent whose partition has no record left.
enum class SentBy {
  kConfirmation,  // the slot or the row says so
  kLaterRecord,   // another partition has a later event
};

// Sets `is_expired` in the table `expected`; for AuditDatabase::Sort.
std::string MarkExpiredSql(SentBy sent_by);

// The hash by which Java's clients and walpost choose the partition of a key:
// the remainder by the number of partitions.
int32_t PartitionHash(const void* key, size_t size);

}  // namespace walpost
