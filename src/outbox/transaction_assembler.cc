#include "outbox/transaction_assembler.h"

#include <algorithm>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// Fields whose loss the route or the payload would not notice by itself.
constexpr std::string_view kDearFields[] = {"id", "aggregate_id", "headers"};

absl::Status OutsideTransaction(std::string_view what) {
  return absl::DataLossError(
      fmt::format("replication stream: {} outside a transaction", what));
}

// An error in the data stays with its event; one in the stream ends it.
absl::Status Settle(absl::Status status, Step& step) {
  if (status.ok()) {
    step.kind = Step::Kind::kEvent;
    return status;
  }
  if (absl::IsDataLoss(status)) return status;
  step.kind = Step::Kind::kUndeliverable;
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
    Describe(*relation);
  } else if (auto* logical = std::get_if<pgoutput::LogicalMessage>(&message)) {
    return Message(*logical, step);
  } else if (std::holds_alternative<pgoutput::Unknown>(message)) {
    ++skipped_.unknown_kinds;
  } else if (!std::holds_alternative<pgoutput::Type>(message) &&
             !std::holds_alternative<pgoutput::Origin>(message)) {
    ++skipped_.changes_other_than_insert;
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
  return absl::OkStatus();
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

void TransactionAssembler::Describe(const pgoutput::Relation& relation) {
  Relation described;
  described.schema = pgoutput::RelationSchema(relation);
  const auto known = relations_.find(relation.oid);
  if (known != relations_.end() && known->second.schema == described.schema) {
    return;  // ANALYZE, GRANT and the like send it again unchanged
  }
  const std::string name = described.schema.QualifiedName();
  for (size_t i = 0; i < options_.tables.size(); ++i) {
    if (options_.tables[i].name != name) continue;
    described.is_outbox = true;
    described.source = i;
    auto mapper = TableMapper::Create(options_.tables[i], described.schema,
                                      references_[i]);
    if (mapper.ok()) mapper = RefuseLostFields(i, *std::move(mapper));
    if (mapper.ok()) {
      described.mapper = *std::move(mapper);
    } else {
      described.bind_error =
          WithReasonCode(mapper.status(), kReasonTableUnsuitable);
    }
  }
  relations_.insert_or_assign(relation.oid, std::move(described));
}

// A field that is found by its usual name, and then no more, was renamed,
// dropped or taken out of the publication while we ran. Without the key the
// order per key would be lost, and nobody would notice.
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
  if (!relation.is_outbox) {
    ++skipped_.rows_of_other_tables;
    return absl::OkStatus();
  }
  if (relation.mapper == nullptr) step.event = {};
  BeginEvent(relation.source, step);
  if (relation.mapper == nullptr) return Settle(relation.bind_error, step);
  return Settle(relation.mapper->Map(insert.row, step.event), step);
}

absl::Status TransactionAssembler::Message(
    const pgoutput::LogicalMessage& message, Step& step) {
  if (!options_.messages.enabled() ||
      message.prefix != options_.messages.prefix) {
    return absl::OkStatus();
  }
  if (!message.transactional) {
    // Sent even when its transaction rolls back: not an event (P4).
    ++skipped_.nontransactional_messages;
    return absl::OkStatus();
  }
  if (!in_transaction_) return OutsideTransaction("a transactional message");
  step.event = {};
  BeginEvent(options_.tables.size(), step);
  return Settle(message_mapper_.Map(message.content, step.event), step);
}

}  // namespace walpost
