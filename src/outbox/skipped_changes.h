// SkippedChanges: counts of stream changes that became no record, by kind,
// since the start; changes sent again after a reconnect count again.
#pragma once

#include <cstdint>

namespace walpost {

struct SkippedChanges {
  // Replication messages that the decoder does not know.
  uint64_t unknown_messages = 0;
  // Rows inserted, updated or deleted in published tables that are not in
  // outbox.tables.
  uint64_t rows_of_other_tables = 0;

  // In outbox tables. The server sends these only if the publication publishes
  // them; walpost creates publications of inserts only.
  uint64_t updates = 0;  // that keep the replica identity's key
  uint64_t key_updates = 0;
  uint64_t deletes = 0;
  uint64_t truncates = 0;

  // Logical messages. The server sends these only if outbox.messages.prefix is
  // set.
  uint64_t nontransactional_messages = 0;  // of our prefix
  uint64_t messages_of_other_prefixes = 0;

  // With postgres.origin: none, what was replicated to the server: rows of
  // outbox tables and messages, and the transactions that had some.
  uint64_t events_of_other_origins = 0;
  uint64_t transactions_of_other_origins = 0;

  SkippedChanges& operator+=(const SkippedChanges& other) {
    unknown_messages += other.unknown_messages;
    rows_of_other_tables += other.rows_of_other_tables;
    updates += other.updates;
    key_updates += other.key_updates;
    deletes += other.deletes;
    truncates += other.truncates;
    nontransactional_messages += other.nontransactional_messages;
    messages_of_other_prefixes += other.messages_of_other_prefixes;
    events_of_other_origins += other.events_of_other_origins;
    transactions_of_other_origins += other.transactions_of_other_origins;
    return *this;
  }
};

}  // namespace walpost
