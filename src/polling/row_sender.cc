#include "polling/row_sender.h"

#include <utility>

#include "base/session_settings.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

absl::Status RowSender::SetTable(PolledTable table,
                                 const std::string& server_encoding) {
  WALPOST_ASSIGN_OR_RETURN(
      mapper_, TableMapper::Create(options_.tables[source_], table.schema,
                                   references()));
  if (MayHoldAnyBytes(server_encoding)) mapper_->RequireUtf8();
  table_ = std::move(table);
  return absl::OkStatus();
}

// Empty: the row waits for no other.
std::string RowSender::AggregateOf(const QueryRows& row) const {
  std::string key;
  for (const std::string& column : table_.aggregate) {
    const auto value = row.Get(0, *table_.schema.FindColumn(column));
    if (!value) return "";
    key += fmt::format("{}:{}", value->size(), *value);
  }
  return key;
}

void RowSender::Send(const RowBatch& batch, MonotonicTime now, HoldUp hold_up,
                     const Ids& acknowledged) {
  const size_t columns = table_.schema.columns.size();
  fetch_sizer_.OnRead(batch.rows.size(), batch.bytes);
  const size_t id = id_column();
  const auto attempts = table_.schema.FindColumn(table_.state.attempts);
  absl::flat_hash_set<std::string> held_up;  // aggregates
  bool all_held_up = false;
  for (const QueryRows& values : batch.rows) {
    RowsInFlight::Row row{values.Text(0, id), 0, now};
    if (attempts) row.attempts = values.Unsigned(0, *attempts);
    if (acknowledged.contains(row.id)) {
      flight_.AddAcknowledged(std::move(row));
      continue;
    }
    const std::string aggregate = AggregateOf(values);
    if (all_held_up || held_up.contains(aggregate)) {
      flight_.Return(std::move(row));
      continue;
    }
    Event event;
    event.source = source_;
    event.commit_time = WallNow();
    const absl::Status mapped =
        mapper_->Map(tuple_.Read(values, columns), event);
    if (polling_sender_.Send(event, mapped, std::move(row), flight_) ==
        PollingSender::Sent::kSent) {
      continue;
    }
    all_held_up = hold_up == HoldUp::kAll;
    if (!aggregate.empty()) held_up.insert(aggregate);
  }
  for (const std::string& left_out : batch.left_out) {
    flight_.Return({left_out, 0, now});
  }
}

}  // namespace walpost
