// SnapshotProgress: how far the initial snapshot is. A record of the checkpoint
// topic has it, in the Kafka transaction of the rows that it counts.
//
// Encoded as walpost.v1.SnapshotProgress (proto/walpost/v1). A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "backfill/scan_cursor.h"
#include "base/lsn.h"

namespace walpost {

struct SnapshotProgress {
  Lsn begins_at;  // the slot
  std::vector<std::string> tables_done;
  uint64_t rows_done = 0;                  // of those tables
  std::string table;                       // the current one; empty: none
  ScanCursor::State place;                 // in it
  std::vector<std::string> order_columns;  // of its key

  bool IsDone(std::string_view of_table) const;
  void AddDone(const std::string& of_table, uint64_t rows);
};

std::string EncodeSnapshotProgress(const SnapshotProgress& progress);
// kDataLoss: it is not one.
absl::StatusOr<SnapshotProgress> DecodeSnapshotProgress(std::string_view bytes);

}  // namespace walpost
