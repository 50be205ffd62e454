// SimulatedTable: the outbox table of a server, the slot, and what is on record
// about it, for the simulation of the initial snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "outbox/options.h"
#include "pgoutput/relation_schema.h"
#include "sim/world.h"
#include "support/message_bytes.h"

namespace walpost::sim {

struct TableRow {
  uint64_t id;
  size_t table;              // of outbox.tables
  std::optional<int> order;  // the column `seq`: it repeats, and may be NULL
  int key;
  uint64_t stamp;  // of its commit
  uint64_t version = 0;
  bool has_illegal_topic = false;
  bool is_too_large = false;

  bool is_deliverable() const { return !has_illegal_topic && !is_too_large; }
  // NULLs last.
  int place() const { return order.value_or(INT32_MAX); }
};

class SimulatedTable {
 public:
  static constexpr size_t kTables = 2;
  static constexpr int kKeys = 3;

  struct Slot {
    uint64_t number = 0;  // of all slots; 0: there is none
    uint64_t begins_at = 0;
    bool has_birth = false;
    bool all_published = false;  // on record
    bool was_streamed = false;
  };

  SimulatedTable(World& world, bool has_bad_rows);

  static OutboxOptions Outbox();
  // The columns of all tables.
  static pgoutput::RelationSchema Schema();
  static testing::Cells Cells(const TableRow& row);

  // ---- Clients.

  void Insert();
  // An operator has corrected, or deleted, rows that cannot be delivered;
  // `before_slot`: only those from before it.
  void Correct(bool before_slot);
  // Somebody drops the slot with its record.
  void DropSlot();

  // ---- Sessions of walpost.

  // False: another session has the lock.
  bool Lock(uint64_t session);
  void Release(uint64_t session);
  bool IsLockedBy(uint64_t session) const { return session == locked_by_; }
  void MakeSlot();
  Slot& slot() { return slot_; }
  const Slot& slot() const { return slot_; }

  const std::map<uint64_t, TableRow>& rows() const { return rows_; }
  const TableRow& row(uint64_t id) const { return rows_.at(id); }
  uint64_t now() const { return stamp_; }

  // Those of `table` in a transaction that shows `shown`, in the scan's order
  // from `from` on.
  std::vector<TableRow> Scan(const std::vector<TableRow>& shown, size_t table,
                             std::optional<int> from) const;
  std::vector<TableRow> Show() const;

 private:
  World& world_;
  bool has_bad_rows_;
  std::map<uint64_t, TableRow> rows_;
  Slot slot_;
  uint64_t slots_ = 0;
  uint64_t locked_by_ = 0;
  uint64_t stamp_ = 0;
  uint64_t ids_ = 0;
};

}  // namespace walpost::sim
