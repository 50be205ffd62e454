#include "outbox/transaction_assembler.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/table_pattern.h"

namespace walpost {
namespace {

// Fields whose loss neither the route nor the payload would reveal.
constexpr std::string_view kDearFields[] = {"id", "aggregate_id", "headers"};

absl::Status OutsideTransaction(std::string_view what) {
  return absl::DataLossError(
      fmt::format("replication stream: {} outside a transaction", what));
}

// An error in the data stays with its event; one in the stream stops it.
absl::Status Settle(absl::Status status, Step& step) {
  if (absl::IsDataLoss(status)) return status;
  step.kind = status.ok() ? Step::Kind::kEvent : Step::Kind::kUndeliverable;
  step.error = std::move(status);
  return absl::OkStatus();
}

}  // namespace

TransactionAssembler::TransactionAssembler(
    const OutboxOptions& options,
    std::vector<std::vector<std::string>> references)
    : options_(options),
      references_(std::move(references)),
      message_mapper_(options.messages, references_.back()),
      mapped_fields_(options.tables.size()) {}

absl::Status TransactionAssembler::Apply(const pgoutput::Message& message,
                                         Step& step) {
  step.kind = Step::Kind::kNothing;
  if (auto* insert = std::get_if<pgoutput::Insert>(&message)) {
    return Insert(*insert, step);
  }
  if (auto* begin = std::get_if<pgoutput::Begin>(&message)) {
    return Begin(*begin);
  }
  if (auto* commit = std::get_if<pgoutput::Commit>(&message)) {
    return Commit(*commit, step);
  }
  if (auto* relation = std::get_if<pgoutput::Relation>(&message)) {
    return Describe(*relation);
  } else if (std::holds_alternative<pgoutput::Origin>(message)) {
    return NoteOrigin();
  } else if (auto* logical = std::get_if<pgoutput::LogicalMessage>(&message)) {
    return Message(*logical, step);
  } else if (std::holds_alternative<pgoutput::Unknown>(message)) {
    ++skipped_.unknown_messages;
  } else if (auto* update = std::get_if<pgoutput::Update>(&message)) {
    return Update(*update, step);
  } else if (auto* removal = std::get_if<pgoutput::Delete>(&message)) {
    CountDelete(*removal);
  } else if (auto* truncate = std::get_if<pgoutput::Truncate>(&message)) {
    CountTruncate(*truncate);
  }
  return absl::OkStatus();
}

absl::Status TransactionAssembler::Begin(const pgoutput::Begin& begin) {
  if (in_transaction_) {
    return absl::DataLossError(fmt::format(
        "replication stream: the transaction that commits at {} begins "
        "inside the one that commits at {}",
        begin.commit_lsn.ToString(), transaction_.commit_lsn.ToString()));
  }
  if (begin.commit_lsn <= transaction_.commit_lsn) {
    return absl::DataLossError(fmt::format(
        "replication stream: the transaction that commits at {} comes after "
        "the one that committed at {}",
        begin.commit_lsn.ToString(), transaction_.commit_lsn.ToString()));
  }
  in_transaction_ = true;
  transaction_ = begin;
  ordinal_ = 0;
  is_replicated_ = false;
  is_counted_ = false;
  return absl::OkStatus();
}

// The server sends it right behind Begin.
absl::Status TransactionAssembler::NoteOrigin() {
  if (!in_transaction_) return OutsideTransaction("an Origin");
  if (options_.origin == OriginFilter::kAny) return absl::OkStatus();
  if (ordinal_ > 0) {
    return absl::DataLossError(fmt::format(
        "replication stream: the transaction that commits at {} has an Origin "
        "behind its first row",
        transaction_.commit_lsn.ToString()));
  }
  is_replicated_ = true;
  return absl::OkStatus();
}

bool TransactionAssembler::SkipsEvent() {
  if (!is_replicated_) return false;
  ++skipped_.events_of_other_origins;
  if (!is_counted_) ++skipped_.transactions_of_other_origins;
  is_counted_ = true;
  return true;
}

absl::Status TransactionAssembler::Commit(const pgoutput::Commit& commit,
                                          Step& step) {
  if (!in_transaction_) return OutsideTransaction("a Commit");
  if (commit.commit_lsn != transaction_.commit_lsn ||
      commit.end_lsn <= commit.commit_lsn) {
    return absl::DataLossError(fmt::format(
        "replication stream: the transaction that began for commit LSN {} "
        "ends with commit LSN {} and end LSN {}",
        transaction_.commit_lsn.ToString(), commit.commit_lsn.ToString(),
        commit.end_lsn.ToString()));
  }
  in_transaction_ = false;
  step.kind = Step::Kind::kTransactionEnd;
  step.end_lsn = commit.end_lsn;
  return absl::OkStatus();
}

// The columns of a table that is not an outbox may be of any type.
absl::Status TransactionAssembler::FindBaseTypes(
    pgoutput::RelationSchema& schema) {
  if (!base_types_) return absl::OkStatus();
  for (pgoutput::ColumnSchema& column : schema.columns) {
    const std::optional<uint32_t> base = base_types_->Of(column.type_oid);
    if (!base) {
      unknown_type_ = column.type_oid;
      return absl::UnavailableError(fmt::format(
          "column '{}' of {} has a type that is newer than the connection: "
          "reading the types again",
          column.name, schema.QualifiedName()));
    }
    column.type_oid = *base;
  }
  return absl::OkStatus();
}

// Columns that have been dropped since have what a Relation message says.
absl::Status TransactionAssembler::FindColumns(
    size_t source, pgoutput::RelationSchema& schema) {
  if (!options_.debezium || !base_types_) return absl::OkStatus();
  for (pgoutput::ColumnSchema& column : schema.columns) {
    const pgoutput::ColumnSchema* listed =
        base_types_->ColumnOf(source, column.name);
    if (listed != nullptr) {
      const uint32_t type_oid = column.type_oid;
      column = *listed;
      column.type_oid = type_oid;
    } else if (const std::string name =
                   fmt::format("{}.{}", schema.QualifiedName(), column.name);
               !base_types_->is_complete() && !asked_columns_.contains(name)) {
      unknown_column_ = name;
      return absl::UnavailableError(fmt::format(
          "column '{}' of {} is newer than the connection: reading the catalog "
          "again",
          column.name, schema.QualifiedName()));
    }
  }
  return absl::OkStatus();
}

absl::Status TransactionAssembler::Describe(
    const pgoutput::Relation& relation) {
  Relation described;
  described.schema = pgoutput::RelationSchema(relation);
  const std::string name = described.schema.QualifiedName();
  const std::optional<size_t> source = SourceOf(name, relation.oid);
  if (source || std::ranges::count(oids_, relation.oid) > 0) {
    WALPOST_RETURN_IF_ERROR(FindBaseTypes(described.schema));
  }
  if (source) {
    WALPOST_RETURN_IF_ERROR(FindColumns(*source, described.schema));
  }
  const auto known = relations_.find(relation.oid);
  if (known != relations_.end() && known->second.schema == described.schema) {
    // ANALYZE, GRANT and the like send it again unchanged
    return absl::OkStatus();
  }
  described.is_new = !source && IsNewTable(name, relation.oid);
  if (source) DescribeOutbox(*source, described);
  if (!described.is_outbox) DescribeRenamed(name, relation.oid, described);
  if (!described.is_outbox) {
    described.name = name;
    described.is_passed_over =
        known != relations_.end() && known->second.is_passed_over;
  }
  relations_.insert_or_assign(relation.oid, std::move(described));
  return absl::OkStatus();
}

// A known table under another name is not a new one.
bool TransactionAssembler::IsNewTable(std::string_view name,
                                      uint32_t oid) const {
  if (std::ranges::count(oids_, oid) > 0) return false;
  return std::ranges::any_of(options_.patterns,
                             [name](const TableOptions& entry) {
                               return MatchesPattern(entry.name, name);
                             });
}

// A row has the name that its table had when it was written, and another table
// may have that name now.
std::optional<size_t> TransactionAssembler::SourceOf(std::string_view name,
                                                     uint32_t oid) const {
  const auto oid_of = [&](size_t i) { return i < oids_.size() ? oids_[i] : 0; };
  std::optional<size_t> by_name;
  std::optional<size_t> by_former_name;
  for (size_t i = 0; i < options_.tables.size(); ++i) {
    const TableOptions& table = options_.tables[i];
    if (table.HadName(name)) {
      if (oid_of(i) == oid) return i;
      if (oid_of(i) == 0) by_former_name = i;
    }
    if (table.name == name) by_name = i;
  }
  return by_name ? by_name : by_former_name;
}

void TransactionAssembler::DescribeOutbox(size_t source, Relation& described) {
  described.is_outbox = true;
  described.source = source;
  auto mapper = TableMapper::Create(options_.tables[source], described.schema,
                                    references_[source]);
  if (mapper.ok()) mapper = RefuseLostFields(source, *std::move(mapper));
  if (mapper.ok()) {
    described.mapper = *std::move(mapper);
    if (requires_utf8_) described.mapper->RequireUtf8();
  } else {
    described.bind_error =
        WithReasonCode(mapper.status(), kReasonTableUnsuitable);
  }
}

void TransactionAssembler::DescribeRenamed(const std::string& name,
                                           uint32_t oid, Relation& described) {
  const auto found = std::ranges::find(oids_, oid);
  if (found == oids_.end() || oid == 0) return;
  const size_t source = static_cast<size_t>(found - oids_.begin());
  if (source < former_names_.size() && former_names_[source] == name) {
    return DescribeOutbox(source, described);
  }
  described.is_outbox = true;
  described.source = source;
  described.bind_error =
      WithReasonCode(absl::FailedPreconditionError(fmt::format(
                         "table {} had the name {} when the row was written: "
                         "publish it with walpost recover -c FILE --force",
                         options_.tables[source].name, name)),
                     kReasonTableUnsuitable);
}

// A field that was found by its usual name, and then is not found any more, was
// renamed, dropped or removed from the publication while we ran. Without the
// key the order per key would be lost unnoticed.
absl::StatusOr<std::unique_ptr<TableMapper>>
TransactionAssembler::RefuseLostFields(size_t source,
                                       std::unique_ptr<TableMapper> mapper) {
  std::vector<MappedField>& mapped = mapped_fields_[source];
  std::string lost;
  for (const MappedField& field : mapped) {
    if (mapper->Maps(field.name) || transaction_.commit_lsn < field.since) {
      continue;
    }
    lost += fmt::format("{}{}", lost.empty() ? "" : ", ", field.name);
  }
  if (!lost.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "table {} has no published column for {} any more, but had before: "
        "bring it back, or say in outbox.tables.columns where it comes from (a "
        "column, {{constant: ...}} or null) and restart walpost",
        options_.tables[source].name, lost));
  }
  for (const std::string_view name : kDearFields) {
    if (mapper->Maps(name)) NoteMapped(name, mapped);
  }
  return mapper;
}

void TransactionAssembler::NoteMapped(std::string_view name,
                                      std::vector<MappedField>& mapped) const {
  for (MappedField& field : mapped) {
    if (field.name != name) continue;
    field.since = std::min(field.since, transaction_.commit_lsn);
    return;
  }
  mapped.push_back({name, transaction_.commit_lsn});
}

void TransactionAssembler::BeginEvent(size_t source, Step& step) {
  step.event.source = source;
  step.event.position = {transaction_.commit_lsn, ++ordinal_};
  step.event.commit_time = transaction_.commit_time;
  step.event.xid = transaction_.xid;
}

absl::Status TransactionAssembler::Insert(const pgoutput::Insert& insert,
                                          Step& step) {
  if (!in_transaction_) return OutsideTransaction("an Insert");
  const auto found = relations_.find(insert.relation_oid);
  if (found == relations_.end()) {
    return absl::DataLossError(fmt::format(
        "replication stream: an Insert into relation {} that was never "
        "described",
        insert.relation_oid));
  }
  Relation& relation = found->second;
  if (relation.is_new) {
    step.kind = Step::Kind::kNewTable;
    step.relation = {insert.relation_oid, relation.name,
                     transaction_.commit_lsn};
    return absl::OkStatus();
  }
  if (!relation.is_outbox) {
    ++skipped_.rows_of_other_tables;
    if (relation.is_passed_over || is_replicated_) return absl::OkStatus();
    step.kind = Step::Kind::kPassedOver;
    step.relation = {insert.relation_oid, relation.name,
                     transaction_.commit_lsn};
    return absl::OkStatus();
  }
  if (SkipsEvent()) return absl::OkStatus();
  if (relation.mapper == nullptr) step.event = {};
  BeginEvent(relation.source, step);
  if (relation.mapper == nullptr) return Settle(relation.bind_error, step);
  return Settle(relation.mapper->Map(insert.row, step.event), step);
}

void TransactionAssembler::PassOver(uint32_t oid) {
  const auto found = relations_.find(oid);
  if (found != relations_.end()) found->second.is_passed_over = true;
}

absl::Status TransactionAssembler::Message(
    const pgoutput::LogicalMessage& message, Step& step) {
  if (!options_.messages.enabled() ||
      message.prefix != options_.messages.prefix) {
    ++skipped_.messages_of_other_prefixes;
    return absl::OkStatus();
  }
  if (!message.transactional) {
    // Sent even if its transaction rolls back: not an event (P4).
    ++skipped_.nontransactional_messages;
    return absl::OkStatus();
  }
  if (!in_transaction_) return OutsideTransaction("a transactional message");
  if (SkipsEvent()) return absl::OkStatus();
  step.event = {};
  BeginEvent(options_.tables.size(), step);
  return Settle(message_mapper_.Map(message.content, step.event), step);
}

bool TransactionAssembler::IsOutbox(uint32_t relation_oid) const {
  const auto found = relations_.find(relation_oid);
  return found != relations_.end() && found->second.is_outbox;
}

// For Debezium, a row whose primary key changes is deleted and inserted; any
// other UPDATE is an error of the application.
absl::Status TransactionAssembler::Update(const pgoutput::Update& update,
                                          Step& step) {
  const auto found = relations_.find(update.relation_oid);
  const bool is_mapped = options_.debezium && found != relations_.end() &&
                         found->second.mapper != nullptr;
  CountUpdate(update);
  if (!is_mapped) return absl::OkStatus();
  Relation& relation = found->second;
  // The replica identity, of which the old row is, need not be the key.
  const bool has_moved =
      update.old_row_kind != pgoutput::OldRow::kNone &&
      relation.mapper->HasMoved(update.old_row, update.new_row);
  const bool stops = options_.debezium->on_update == debezium::OnUpdate::kStop;
  if (!has_moved && !stops) return absl::OkStatus();
  if (!in_transaction_) return OutsideTransaction("an UPDATE");
  if (SkipsEvent()) return absl::OkStatus();
  BeginEvent(relation.source, step);
  if (has_moved) {
    return Settle(
        relation.mapper->MapMoved(update.old_row, update.new_row, step.event),
        step);
  }
  WALPOST_RETURN_IF_ERROR(relation.mapper->Map(update.new_row, step.event));
  return Settle(
      Undeliverable(
          kReasonConversionFailed,
          fmt::format("a row of {} was updated, which is an error with "
                      "records.on_update: stop",
                      relation.schema.QualifiedName())),
      step);
}

// The old key is sent if it has changed. With REPLICA IDENTITY FULL the whole
// old row is always sent, and the key columns are not known.
void TransactionAssembler::CountUpdate(const pgoutput::Update& update) {
  if (!IsOutbox(update.relation_oid)) {
    ++skipped_.rows_of_other_tables;
  } else if (update.old_row_kind == pgoutput::OldRow::kKey) {
    ++skipped_.key_updates;
  } else {
    ++skipped_.updates;
  }
}

void TransactionAssembler::CountDelete(const pgoutput::Delete& removal) {
  if (IsOutbox(removal.relation_oid)) {
    ++skipped_.deletes;
  } else {
    ++skipped_.rows_of_other_tables;
  }
}

void TransactionAssembler::CountTruncate(const pgoutput::Truncate& truncate) {
  ByteReader reader(truncate.relation_oids);
  for (uint32_t i = 0; i < truncate.relation_count; ++i) {
    if (IsOutbox(reader.ReadUint32())) ++skipped_.truncates;
  }
}

}  // namespace walpost
