// PassedOver: relations whose rows walpost has passed over, because they are
// not in outbox.tables, each with the commit of the first such row.
//
// The server sends the rows of every published table. A table that is added to
// outbox.tables later lacks those that walpost has passed over, and they are
// behind the confirmed LSN: nothing brings them again. So the relations are on
// record before such an LSN is confirmed, with the coverage (coverage.h):
//
//   passed.16400@0/1A2B3C8.16404@0/1A2B400     oid, LSN of the commit
//   passed.all@0/1A2B3C8                       any relation, from there on
//   passed                                     none yet
//   some.16400@0/1A2B3C8                       others are not on record
//
// Relations are named by oid: a table that takes the name of another one is
// another table, and a renamed table is the same. A value. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/lsn.h"

namespace walpost {

class PassedOver {
 public:
  // FOR ALL TABLES sends the rows of every table of the database. Beyond this
  // number any relation may have been passed over.
  static constexpr size_t kMaxRelations = 256;

  // The earliest commit of a relation counts.
  void Add(uint32_t oid, Lsn commit_lsn);
  void Add(const PassedOver& other);
  // The relation is an outbox table now.
  void Remove(uint32_t oid) { since_.erase(oid); }

  // True if the rows of other relations were not passed over. An older release
  // kept no record, nor does a role that may not write it.
  bool is_complete() const { return is_complete_; }
  void SetComplete(bool is_complete) { is_complete_ = is_complete; }

  bool empty() const { return since_.empty() && !any_since_; }
  bool Contains(uint32_t oid) const { return since_.contains(oid); }
  // The first commit with a row of this relation. nullopt: none.
  std::optional<Lsn> Since(uint32_t oid) const;
  // The same, for a relation that was never an outbox table: there may have
  // been too many relations.
  std::optional<Lsn> SinceIfUnknown(uint32_t oid) const;
  // The earliest of all.
  std::optional<Lsn> first() const;
  const std::map<uint32_t, Lsn>& relations() const { return since_; }

  // Empty: nothing is on record.
  std::string ToString() const;
  // Any other text has nothing on record. A part that is not understood may
  // have been any relation.
  static PassedOver Parse(std::string_view text);

  friend bool operator==(const PassedOver&, const PassedOver&) = default;

 private:
  std::map<uint32_t, Lsn> since_;  // by oid
  std::optional<Lsn> any_since_;
  bool is_complete_ = false;
};

}  // namespace walpost
