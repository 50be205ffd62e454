// LeaseTable: the statements' parts about leases that are kept beside the
// polled table, in a table of their own (sql/leases.sql).
//
// To claim rows then means to write a few lines there, and no row: a row is
// written once, when it has been published. A lease is of keys. The key of a
// row is the hash of its aggregate, or of its id if it has none, so a held
// aggregate is held whole. Different keys with one hash wait for each other.
//
// Two claims would not see each other's leases. So a claim begins with Lock,
// before its snapshot is taken, and keeps the lock until it is committed. No
// other statement about rows or leases waits for it.
//
// A lease that has ended belongs to whoever deletes it. A holder that comes too
// late finds that it has none.
//
// Pure: only makes text. An expression for a key is ClaimSql's.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace walpost {

// SQL, on one line, that makes the table and lets a role use it. The table is
// schema.table, here and below.
std::string GrantLeaseTableSql(std::string_view lease_table,
                               std::string_view role);
// sql/leases.sql for this table, unchanged, with its comments.
std::string LeaseTableScript(std::string_view lease_table);

class LeaseTable {
 public:
  using Quote = std::function<std::string(std::string_view)>;

  // `polled_table` is schema.table. `holder` names one walpost while it runs:
  // no other may ever have that name.
  LeaseTable(std::string_view lease_table, std::string_view polled_table,
             std::string_view holder, std::chrono::milliseconds lease,
             const Quote& quote);

  // A statement of its own, in the transaction of the claim.
  std::string Lock() const;
  // First parts of a claim: deletes the leases that have ended, and `held`,
  // with the keys of the others.
  std::string Held() const;
  // Condition: this key is not in `held`.
  static std::string IsFree(std::string_view key);
  // Last part of a claim: holds the keys of the rows of `part`.
  std::string Hold(std::string_view key, std::string_view part) const;

  // Part `renewed`: our leases from now on, with their keys.
  std::string Renewed() const;
  // Condition: this key is ours, until the end of the transaction.
  std::string IsOurs(std::string_view key) const;
  // Ends our leases but those of keys that this query returns; empty: all.
  std::string KeepOnly(std::string_view keys) const;

 private:
  std::string Ours() const;
  std::string Until() const;

  std::string name_;    // quoted
  std::string table_;   // as an expression
  std::string holder_;  // a literal
  std::chrono::milliseconds lease_;
};

}  // namespace walpost
