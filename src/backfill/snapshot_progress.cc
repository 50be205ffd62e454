#include "backfill/snapshot_progress.h"

#include <algorithm>

#include "fmt/format.h"
#include "walpost/v1/snapshot_progress.pb.h"

namespace walpost {
namespace {

// They take half of the 1 MiB that Kafka allows for a record.
constexpr int kMaxTiesOnRecord = 65'000;
static_assert(ScanCursor::kMaxTies < kMaxTiesOnRecord);

}  // namespace

bool SnapshotProgress::IsDone(std::string_view of_table) const {
  return std::ranges::find(tables_done, of_table) != tables_done.end();
}

void SnapshotProgress::AddDone(const std::string& of_table, uint64_t rows) {
  tables_done.push_back(of_table);
  rows_done += rows;
}

std::string EncodeSnapshotProgress(const SnapshotProgress& progress) {
  v1::SnapshotProgress message;
  message.set_begins_at(progress.begins_at.value());
  for (const std::string& table : progress.tables_done) {
    message.add_tables_done(table);
  }
  message.set_rows_done(progress.rows_done);
  message.set_table(progress.table);
  message.set_table_rows(progress.place.done);
  if (progress.place.key) {
    for (size_t i = 0; i < progress.place.key->size(); ++i) {
      const std::optional<std::string>& value = (*progress.place.key)[i];
      v1::OrderValue* added = message.add_place();
      added->set_column(progress.order_columns[i]);
      if (value) added->set_text(*value);
    }
  }
  for (const auto& [content, rows] : progress.place.ties) {
    for (uint32_t i = 0; i < rows; ++i) {
      if (message.ties_size() < kMaxTiesOnRecord) message.add_ties(content);
    }
  }
  return message.SerializeAsString();
}

absl::StatusOr<SnapshotProgress> DecodeSnapshotProgress(
    std::string_view bytes) {
  v1::SnapshotProgress message;
  SnapshotProgress progress;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(fmt::format(
        "{} bytes that are not the progress of a snapshot", bytes.size()));
  }
  progress.begins_at = Lsn(message.begins_at());
  progress.tables_done.assign(message.tables_done().begin(),
                              message.tables_done().end());
  progress.rows_done = message.rows_done();
  progress.table = message.table();
  progress.place.done = message.table_rows();
  if (message.place_size() > 0) progress.place.key.emplace();
  for (const v1::OrderValue& value : message.place()) {
    progress.place.key->push_back(value.has_text() ? std::optional(value.text())
                                                   : std::nullopt);
    progress.order_columns.push_back(value.column());
  }
  for (const uint64_t content : message.ties()) ++progress.place.ties[content];
  return progress;
}

}  // namespace walpost
