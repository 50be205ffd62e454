// TransactionAssembler: the message stream of one connection -> the events of
// its committed transactions, in commit order.
//
// It keeps what the stream makes one keep: the open transaction, the ordinal
// of its events, and per table how its columns map. Protocol 1 sends only
// committed transactions, whole, one after the other, so nothing is buffered:
// an event can go out while the rest of its transaction is still arriving.
//
// One per connection (relation descriptions do not outlive it); owned by the
// source. Pure: no clock, no I/O.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "outbox/event.h"
#include "outbox/message_mapper.h"
#include "outbox/options.h"
#include "outbox/table_mapper.h"
#include "pgoutput/message.h"

namespace walpost {

// What one message of the stream meant.
struct Step {
  enum class Kind {
    kNothing,         // nothing to deliver
    kEvent,           // `event` is to be delivered
    kUndeliverable,   // an event that cannot be mapped: position and `error`
    kTransactionEnd,  // everything before `end_lsn` has been handed out
  };
  Kind kind = Kind::kNothing;
  Event event;
  absl::Status error;
  Lsn end_lsn;
};

class TransactionAssembler {
 public:
  // Messages that were passed over, since the start of this connection.
  struct Skipped {
    uint64_t unknown_kinds = 0;
    uint64_t rows_of_other_tables = 0;
    uint64_t changes_other_than_insert = 0;
    uint64_t nontransactional_messages = 0;

    Skipped& operator+=(const Skipped& other) {
      unknown_kinds += other.unknown_kinds;
      rows_of_other_tables += other.rows_of_other_tables;
      changes_other_than_insert += other.changes_other_than_insert;
      nontransactional_messages += other.nontransactional_messages;
      return *this;
    }
  };

  // `references[i]` are the names that the route of source i needs (the
  // tables in order, then the messages).
  TransactionAssembler(const OutboxOptions& options,
                       std::vector<std::vector<std::string>> references);

  // Takes the next message and says in `step` what it meant. The event in it
  // lives until the next call, and as long as the message's bytes.
  //
  // kDataLoss: the stream contradicts itself (a row outside a transaction, a
  // relation that was never described, ...).
  absl::Status Apply(const pgoutput::Message& message, Step& step);

  // What the columns of each table have given, and since which commit: rows of
  // before that are repeated in their old shape. The assembler of the next
  // connection is to remember it, or a field that is lost in between would not
  // be missed.
  struct MappedField {
    std::string_view name;
    Lsn since;
  };
  using MappedFields = std::vector<std::vector<MappedField>>;
  const MappedFields& mapped_fields() const { return mapped_fields_; }
  void Remember(const MappedFields& fields) {
    if (!fields.empty()) mapped_fields_ = fields;
  }

  bool in_transaction() const { return in_transaction_; }
  const Skipped& skipped() const { return skipped_; }

 private:
  // A relation of this connection. Without a mapper it is another table's,
  // or one whose columns do not fit: then bind_error says so.
  struct Relation {
    pgoutput::RelationSchema schema;
    size_t source = 0;
    bool is_outbox = false;
    std::unique_ptr<TableMapper> mapper;
    absl::Status bind_error;
  };

  absl::Status Begin(const pgoutput::Begin& begin);
  absl::Status Commit(const pgoutput::Commit& commit, Step& step);
  void Describe(const pgoutput::Relation& relation);
  absl::Status Insert(const pgoutput::Insert& insert, Step& step);
  absl::Status Message(const pgoutput::LogicalMessage& message, Step& step);
  absl::StatusOr<std::unique_ptr<TableMapper>> RefuseLostFields(
      size_t source, std::unique_ptr<TableMapper> mapper);
  void NoteMapped(std::string_view name,
                  std::vector<MappedField>& mapped) const;
  void BeginEvent(size_t source, Step& step);

  OutboxOptions options_;
  std::vector<std::vector<std::string>> references_;
  MessageMapper message_mapper_;
  absl::flat_hash_map<uint32_t, Relation> relations_;
  MappedFields mapped_fields_;

  bool in_transaction_ = false;
  pgoutput::Begin transaction_;
  uint64_t ordinal_ = 0;
  Skipped skipped_;
};

}  // namespace walpost
