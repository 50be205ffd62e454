// PassedOverRows: keeps on record whose rows are passed over, before their LSN
// is confirmed.
//
//   row ─▶ OnRow ─▶ pending ─▶ checkpoint or birth record ─▶ OnRecorded
//
// With a checkpoint store they go into the checkpoint that lets the LSN be
// confirmed. Without one, the birth record has to be written first: until then
// nothing is confirmed past them (limit()). A role that may not write it gives
// them up, except for tables that `walpost init` has announced on the record:
// their rows are never confirmed, and the next start sends them.
//
// One serves all streams of a process. Owned by the Relay. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/lsn.h"
#include "checkpoint/passed_over.h"

namespace walpost {

class PassedOverRows {
 public:
  enum class Kept { kInCheckpoints, kOnRecord };
  explicit PassedOverRows(Kept kept) : kept_(kept) {}

  // A stream begins; `known` is on record, of rows before `from`. This process
  // may have come further, to `reached`. Then another instance has written the
  // record, and relations that were passed over in between are pending again.
  // Only the first row of a relation was reported, so it may have had none
  // there.
  void Begin(const PassedOver& known, Lsn from, Lsn reached);
  // A row of a table (schema.table) that is not in outbox.tables.
  void OnRow(uint32_t oid, std::string_view table, Lsn commit_lsn);

  // The relations that must be put on record.
  PassedOver pending() const;
  void OnRecorded(const PassedOver& recorded);
  // The role may not write the birth record, which lists the tables with these
  // oids. Returns the names of the others: their rows are passed over without a
  // record.
  std::vector<std::string> OnRefused(const std::vector<uint32_t>& listed);
  // True if the birth record must be written.
  bool is_due() const;
  // Names of the listed tables, after OnRefused.
  std::vector<std::string> held() const;

  // The LSN beyond which nothing may be confirmed.
  Lsn limit() const;

 private:
  struct Relation {
    std::string table;
    Lsn since;
    bool is_held = false;
  };

  void Note(uint32_t oid, const std::string& table, Lsn since);

  Kept kept_;
  PassedOver known_;
  // By oid; no more than the server has tables.
  std::map<uint32_t, Relation> pending_;
  std::map<uint32_t, Relation> passed_;  // by this process; the first commit
  std::set<uint32_t> given_up_;
};

}  // namespace walpost
