// TransactionAssembler: turns the messages of one connection into the events of
// its committed transactions, in commit order.
//
// It keeps the state of the stream: the open transaction, the ordinal of its
// events, and the column mapping of each table. Protocol 1 sends only committed
// transactions, whole, one after the other. So nothing is buffered: an event
// can be sent while the rest of its transaction is still arriving.
//
// With OriginFilter::kNone, the rows and messages of a transaction that has an
// Origin are counted, and are not events; its end is a step like any other.
//
// One per connection (relation descriptions are not valid longer); owned by the
// source. Pure: no clock, no I/O.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "outbox/base_types.h"
#include "outbox/event.h"
#include "outbox/message_mapper.h"
#include "outbox/options.h"
#include "outbox/other_relation.h"
#include "outbox/skipped_changes.h"
#include "outbox/table_mapper.h"
#include "pgoutput/message.h"

namespace walpost {

// Result of one message of the stream.
struct Step {
  enum class Kind {
    kNothing,         // nothing to deliver
    kEvent,           // `event` is ready; `error` is ok
    kUndeliverable,   // an event that cannot be mapped: position and `error`
    kTransactionEnd,  // everything before `end_lsn` has been returned
    kPassedOver,      // a row of `relation`, which is not an outbox table
    kNewTable,        // rows of `relation`, an outbox table by its pattern that
                      // is not among the tables yet, come next
  };
  Kind kind = Kind::kNothing;
  Event event;
  absl::Status error;
  Lsn end_lsn;
  OtherRelation relation;  // valid like the event
};

class TransactionAssembler {
 public:
  using Skipped = SkippedChanges;

  // `references[i]`: names that the route of source i needs (the tables in
  // order, then the messages).
  TransactionAssembler(const OutboxOptions& options,
                       std::vector<std::vector<std::string>> references);

  // The oids of the tables, in order; 0: not known. A row of one of them under
  // another name, because the table was renamed for a while, is an event of
  // that table that cannot be delivered: it stops the flow instead of passing
  // for a row of another table. `former_names`: of tables that were renamed
  // together with the configuration, in order; under these names their rows are
  // events as usual.
  void SetTableOids(std::vector<uint32_t> oids,
                    std::vector<std::string> former_names = {}) {
    oids_ = std::move(oids);
    former_names_ = std::move(former_names);
  }

  // Rows of this relation are passed over without a step from now on.
  void PassOver(uint32_t oid);

  // Types of columns that are not in the list end the stream (kUnavailable),
  // so that it is read again; see unknown_type.
  void SetBaseTypes(BaseTypes types) { base_types_ = std::move(types); }
  // The type because of which Apply has failed; 0: none.
  uint32_t unknown_type() const { return unknown_type_; }
  // Likewise the column, schema.table.column; empty: none. After it was asked
  // for it is used without what the catalog would say.
  const std::string& unknown_column() const { return unknown_column_; }
  void SetAskedColumns(std::set<std::string> names) {
    asked_columns_ = std::move(names);
  }

  // See TableMapper; for every table described from now on.
  void RequireUtf8() { requires_utf8_ = true; }

  // Takes the next message and sets `step` to its result. The event in it is
  // valid until the next call, and as long as the message's bytes.
  //
  // kDataLoss: the stream contradicts itself (a row outside a transaction, a
  // relation that was never described, ...). kUnavailable: see SetBaseTypes.
  absl::Status Apply(const pgoutput::Message& message, Step& step);

  // Fields that the columns of each table have provided, and since which
  // commit: earlier rows may be repeated in their old shape. Pass them on to
  // the assembler of the next connection; otherwise a field that is lost in
  // between would not be noticed.
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
  // Counted since the start of this connection.
  const Skipped& skipped() const { return skipped_; }

 private:
  // A relation of this connection. Without a mapper it is another table, or its
  // columns do not match: then bind_error says why.
  struct Relation {
    pgoutput::RelationSchema schema;
    size_t source = 0;
    bool is_outbox = false;
    std::string name;  // of another table
    // It matches a pattern, and nobody knows it yet. A partition that is
    // published as its root is described, too, and has no row of its own.
    bool is_new = false;
    bool is_passed_over = false;  // a step is not needed
    std::unique_ptr<TableMapper> mapper;
    absl::Status bind_error;
  };

  absl::Status Begin(const pgoutput::Begin& begin);
  absl::Status Commit(const pgoutput::Commit& commit, Step& step);
  absl::Status NoteOrigin();
  // True if the next event of the transaction is skipped.
  bool SkipsEvent();
  absl::Status Describe(const pgoutput::Relation& relation);
  bool IsNewTable(std::string_view name, uint32_t oid) const;
  absl::Status FindBaseTypes(pgoutput::RelationSchema& schema);
  absl::Status FindColumns(size_t source, pgoutput::RelationSchema& schema);
  std::optional<size_t> SourceOf(std::string_view name, uint32_t oid) const;
  void DescribeOutbox(size_t source, Relation& described);
  void DescribeRenamed(const std::string& name, uint32_t oid,
                       Relation& described);
  absl::Status Insert(const pgoutput::Insert& insert, Step& step);
  absl::Status Message(const pgoutput::LogicalMessage& message, Step& step);
  absl::Status Update(const pgoutput::Update& update, Step& step);
  void CountUpdate(const pgoutput::Update& update);
  void CountDelete(const pgoutput::Delete& removal);
  void CountTruncate(const pgoutput::Truncate& truncate);
  bool IsOutbox(uint32_t relation_oid) const;
  absl::StatusOr<std::unique_ptr<TableMapper>> RefuseLostFields(
      size_t source, std::unique_ptr<TableMapper> mapper);
  void NoteMapped(std::string_view name,
                  std::vector<MappedField>& mapped) const;
  void BeginEvent(size_t source, Step& step);

  OutboxOptions options_;
  std::vector<std::vector<std::string>> references_;
  MessageMapper message_mapper_;
  std::vector<uint32_t> oids_;
  std::vector<std::string> former_names_;
  std::optional<BaseTypes> base_types_;
  uint32_t unknown_type_ = 0;
  std::string unknown_column_;
  std::set<std::string> asked_columns_;
  absl::flat_hash_map<uint32_t, Relation> relations_;
  MappedFields mapped_fields_;

  bool requires_utf8_ = false;
  bool in_transaction_ = false;
  pgoutput::Begin transaction_;
  uint64_t ordinal_ = 0;
  // The open transaction is of another origin, and not wanted.
  bool is_replicated_ = false;
  bool is_counted_ = false;  // as a skipped one
  Skipped skipped_;
};

}  // namespace walpost
