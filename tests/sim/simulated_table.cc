#include "sim/simulated_table.h"

#include <algorithm>
#include <string>

#include "support/rows.h"

namespace walpost::sim {
namespace {

constexpr uint64_t kFirstRows = 30;

}  // namespace

SimulatedTable::SimulatedTable(World& world, bool has_bad_rows)
    : world_(world), has_bad_rows_(has_bad_rows) {
  for (uint64_t n = world_.random.Below(kFirstRows); n > 0; --n) Insert();
}

OutboxOptions SimulatedTable::Outbox() {
  OutboxOptions options;
  options.tables.resize(kTables);
  options.tables[0].name = "public.outbox";
  options.tables[1].name = "public.orders";
  return options;
}

pgoutput::RelationSchema SimulatedTable::Schema() {
  return testing::MakeTable(
      "public", "outbox",
      {{"id"}, {"seq"}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}});
}

testing::Cells SimulatedTable::Cells(const TableRow& row) {
  using testing::Text;
  const std::string version = std::to_string(row.version);
  return {Text(std::to_string(row.id)),
          row.order ? Text(std::to_string(*row.order)) : testing::Null(),
          Text(row.has_illegal_topic ? "an order" : "order"),
          Text(std::to_string(row.key)),
          Text(std::to_string(row.id) + " " + version)};
}

// Some commit late: with a place before that of others.
void SimulatedTable::Insert() {
  TableRow row;
  row.id = ++ids_;
  row.table = world_.random.Below(kTables);
  row.order = static_cast<int>(ids_ / 3);
  if (world_.random.OneIn(5)) {
    row.order = static_cast<int>(world_.random.Below(ids_ / 3 + 1));
  }
  if (world_.random.OneIn(12)) row.order.reset();
  row.key = static_cast<int>(world_.random.Below(kKeys));
  row.stamp = ++stamp_;
  if (has_bad_rows_) {
    row.has_illegal_topic = world_.random.OneIn(14);
    row.is_too_large = !row.has_illegal_topic && world_.random.OneIn(12);
  }
  rows_.emplace(row.id, row);
}

void SimulatedTable::Correct(bool before_slot) {
  const auto is_meant = [&](const TableRow& row) {
    const bool is_streamed = row.stamp > slot_.begins_at;
    return !row.is_deliverable() && !(before_slot && is_streamed);
  };
  for (auto row = rows_.begin(); row != rows_.end();) {
    if (!is_meant(row->second) || !world_.random.OneIn(3)) {
      ++row;
    } else if (world_.random.OneIn(3)) {
      world_.Note(kNobody, "an operator deletes row {}", row->first);
      row = rows_.erase(row);
    } else {
      world_.Note(kNobody, "an operator corrects row {}", row->first);
      ++row->second.version;
      row->second.has_illegal_topic = row->second.is_too_large = false;
      ++row;
    }
  }
}

void SimulatedTable::DropSlot() {
  if (slot_.number == 0) return;
  world_.Note(kNobody, "somebody drops the slot");
  slot_ = Slot();
}

bool SimulatedTable::Lock(uint64_t session) {
  if (locked_by_ != 0 && locked_by_ != session) return false;
  locked_by_ = session;
  return true;
}

void SimulatedTable::Release(uint64_t session) {
  if (locked_by_ == session) locked_by_ = 0;
}

void SimulatedTable::MakeSlot() {
  slot_ = Slot();
  slot_.number = ++slots_;
  slot_.begins_at = ++stamp_;  // two slots never begin at one place
}

std::vector<TableRow> SimulatedTable::Show() const {
  std::vector<TableRow> shown;
  for (const auto& [id, row] : rows_) shown.push_back(row);
  return shown;
}

// Rows at one place come in any order.
std::vector<TableRow> SimulatedTable::Scan(const std::vector<TableRow>& shown,
                                           size_t table,
                                           std::optional<int> from) const {
  std::vector<TableRow> rows;
  for (const TableRow& row : shown) {
    const bool is_behind = !from || row.place() >= *from;
    if (row.table == table && is_behind) rows.push_back(row);
  }
  std::shuffle(rows.begin(), rows.end(), world_.random.engine());
  std::ranges::stable_sort(rows, {}, &TableRow::place);
  return rows;
}

}  // namespace walpost::sim
