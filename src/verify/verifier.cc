#include "verify/verifier.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/event_digest.h"
#include "outbox/row_origin.h"
#include "verify/audit_queries.h"
#include "verify/empty_table.h"
#include "verify/envelope_payload.h"
#include "verify/topic_prefixes.h"

namespace walpost {
namespace {

constexpr uint64_t kProgressEvery = 20'000;
constexpr size_t kIdsPerLookup = 5'000;

absl::StatusOr<std::vector<JudgementOptions::ChosenPartitions>>
FindChosenPartitions(const OutboxOptions& outbox) {
  std::vector<JudgementOptions::ChosenPartitions> chosen;
  const auto add =
      [&](const std::string& own,
          const std::optional<std::string>& column) -> absl::Status {
    if (column.value_or(outbox.route.partition).empty())
      return absl::OkStatus();
    WALPOST_ASSIGN_OR_RETURN(
        const TopicTemplate topic,
        TopicTemplate::Parse(own.empty() ? outbox.route.topic : own,
                             outbox.route.names));
    chosen.push_back({topic.prefix(), !topic.references().empty()});
    return absl::OkStatus();
  };
  for (const TableOptions& table : outbox.tables) {
    WALPOST_RETURN_IF_ERROR(add(table.topic, table.partition));
  }
  if (outbox.messages.enabled()) {
    WALPOST_RETURN_IF_ERROR(
        add(outbox.messages.topic, outbox.messages.partition));
  }
  return chosen;
}

std::optional<JsonForms> FormsOf(const VerifierOptions& options) {
  if (options.compared_as == ComparedAs::kBytes) return std::nullopt;
  JsonForms forms;
  if (const auto& debezium = options.outbox.debezium) {
    forms.key = JsonForm::OfKeys(*debezium);
    forms.value = JsonForm::OfValues(*debezium);
  }
  return forms;
}

}  // namespace

absl::StatusOr<Report> Verifier::Run() {
  WALPOST_ASSIGN_OR_RETURN(
      audit_database_,
      AuditDatabase::Create(options_.work_directory, FormsOf(options_)));
  if (options_.id_file.empty()) {
    WALPOST_RETURN_IF_ERROR(ReadTables());
  } else {
    WALPOST_RETURN_IF_ERROR(ReadIds());
  }
  at_brokers_ = true;
  WALPOST_RETURN_IF_ERROR(ReadTopics());
  at_brokers_ = false;
  WALPOST_RETURN_IF_ERROR(JudgeEmptyTables());
  progress_("comparing", 0, 0);
  WALPOST_RETURN_IF_ERROR(audit_database_->Sort());
  if (options_.id_file.empty()) WALPOST_RETURN_IF_ERROR(FindNewer());
  JudgementOptions judgement;
  judgement.sequence_column = options_.sequence_column;
  judgement.fail_on_not_in_table =
      options_.fail_on_not_in_table || !options_.id_file.empty();
  judgement.fail_on_duplicates = options_.fail_on_duplicates;
  judgement.fail_on_without_id = options_.fail_on_without_id;
  judgement.undecided = options_.undecided;
  WALPOST_ASSIGN_OR_RETURN(judgement.chosen_partitions,
                           FindChosenPartitions(options_.outbox));
  row_orders_.erase("");
  judgement.row_order = absl::StrJoin(row_orders_, ", ");
  WALPOST_ASSIGN_OR_RETURN(Report report, Judge(*audit_database_, judgement));
  report.brokers = brokers_;
  report.confirmed = confirmed_;
  report.notes = notes_;
  if (report[FindingKind::kMissing].count > 0 && !unseen_topic_.empty()) {
    report.notes.push_back(fmt::format(
        "cleanup.policy of topic {} cannot be seen (right DESCRIBE_CONFIGS): "
        "events that compaction has removed count as missing",
        unseen_topic_));
  }
  WALPOST_RETURN_IF_ERROR(NoteUnknownOrigins(report));
  const bool may_be_updated = report[FindingKind::kAltered].count > 0 ||
                              report[FindingKind::kUndecided].count > 0;
  if (may_be_updated) {
    report.notes.insert(report.notes.end(), update_notes_.begin(),
                        update_notes_.end());
  }
  return report;
}

// They are among the missing and the pending ones.
absl::Status Verifier::NoteUnknownOrigins(Report& report) {
  if (options_.outbox.origin == OriginFilter::kAny) return absl::OkStatus();
  int64_t unknown = 0;
  WALPOST_RETURN_IF_ERROR(audit_database_->Select(
      "SELECT count(*) FROM expected WHERE NOT is_matched AND other_origin IS "
      "NULL",
      [&](const AuditDatabase::Row& row) { unknown = row.Number(0); }));
  if (unknown == 0 || !options_.id_file.empty()) return absl::OkStatus();
  report.notes.push_back(fmt::format(
      "{} rows without a record may have been replicated to this server, which "
      "postgres.origin: none skips, or are lost: {}",
      unknown, kWhyOriginIsUnknown));
  return absl::OkStatus();
}

absl::Status Verifier::ReadTables() {
  WALPOST_ASSIGN_OR_RETURN(table_, TableReader::Connect(options_.conninfo));
  WALPOST_ASSIGN_OR_RETURN(skipped_, table_->ReadSkipped(options_.slot));
  for (const TableOptions& table : options_.outbox.tables) {
    WALPOST_RETURN_IF_ERROR(ReadTable(table));
  }
  WALPOST_RETURN_IF_ERROR(WaitConfirmed());
  return ReadParked();
}

// Before the topics: what is released meanwhile is found there.
absl::Status Verifier::ReadParked() {
  if (options_.parking_table.empty()) return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(
      const std::vector<TableReader::Parked> parked,
      table_->ReadParked(options_.parking_table, options_.slot));
  for (const TableReader::Parked& event : parked) {
    WALPOST_RETURN_IF_ERROR(
        audit_database_->AddDisposition(event.id, event.key, event.fate));
  }
  return absl::OkStatus();
}

absl::Status Verifier::NoteIfSkipped(const TableOptions& table,
                                     const ExpectedRecord& row) {
  if (skipped_.empty() || row.id.empty()) return absl::OkStatus();
  Event event;
  event.id = row.id;
  if (!skipped_.contains(EventDigest(table.recorded_name(), event))) {
    return absl::OkStatus();
  }
  return audit_database_->AddDisposition(row.id, row.key,
                                         Disposition::kSkipped);
}

absl::Status Verifier::ReadTable(const TableOptions& table) {
  const uint64_t before = rows_;
  WALPOST_RETURN_IF_ERROR(table_->Read(
      table, options_.outbox, options_.sequence_column, options_.confirmed_by,
      options_.compared_as, [&](const ExpectedRecord& row) {
        if (row.topic) topics_.insert(*row.topic);
        all_rows_confirmed_ &= row.must_be_there;
        if (++rows_ % kProgressEvery == 0) {
          progress_("reading the table", rows_, 0);
        }
        const absl::Status noted = NoteIfSkipped(table, row);
        return noted.ok() ? audit_database_->Add(row) : noted;
      }));
  row_orders_.insert(table_->row_order());
  NoteNotCompared(table);
  if (rows_ == before) empty_tables_.push_back(table.name);
  return NoteUpdates(table.name);
}

void Verifier::NoteNotCompared(const TableOptions& table) {
  if (table_->knows_value() && table_->knows_key()) return;
  if (!table.debezium) {
    notes_.push_back(fmt::format(
        "values of {} are made of several columns and were not compared",
        table.name));
    return;
  }
  const bool as_json = options_.compared_as == ComparedAs::kJson;
  const std::string_view parts = table_->knows_key()     ? "values"
                                 : table_->knows_value() ? "keys"
                                                         : "keys and values";
  notes_.push_back(fmt::format(
      "{} of {} are made as Debezium makes them (records.profile) and were not "
      "compared{}",
      parts, table.name,
      as_json ? ": their columns are of types that it converts, or have a "
                "DEFAULT, or it makes an envelope"
              : ": --json-equal compares those of texts, JSON, integers and "
                "uuids"));
}

// With the other sources, the state of a row is updated.
absl::Status Verifier::NoteUpdates(const std::string& table) {
  if (options_.confirmed_by.kind != ConfirmedBy::Kind::kSlot) {
    return absl::OkStatus();
  }
  WALPOST_ASSIGN_OR_RETURN(const uint64_t updates, table_->CountUpdates(table));
  if (updates == 0) return absl::OkStatus();
  update_notes_.push_back(fmt::format(
      "table {}: UPDATE has changed {} rows since its statistics began. A row "
      "is published as it was at its INSERT, and then differs from its record: "
      "it is altered, or missing with an undecided record",
      table, updates));
  return absl::OkStatus();
}

absl::Status Verifier::WaitConfirmed() {
  using Confirmed = Report::Confirmed;
  if (options_.confirmed_by.kind != ConfirmedBy::Kind::kSlot) {
    confirmed_ = all_rows_confirmed_ ? Confirmed::kAll : Confirmed::kNotAll;
    return absl::OkStatus();
  }
  WALPOST_ASSIGN_OR_RETURN(
      confirmed_,
      table_->WaitConfirmed(options_.confirmed_by.name, options_.wait_seconds));
  return confirmed_ == Confirmed::kNotAll ? absl::OkStatus()
                                          : audit_database_->ExpectAll();
}

absl::Status Verifier::JudgeEmptyTables() {
  if (empty_tables_.empty()) return absl::OkStatus();
  std::optional<uint64_t> pending;
  if (confirmed_ == Report::Confirmed::kNotAll) {
    WALPOST_ASSIGN_OR_RETURN(
        pending, table_->CountPending(options_.slot, options_.publication));
  }
  for (const std::string& table : empty_tables_) {
    EmptyTable judged = JudgeEmptyTable({table, confirmed_, pending, records_});
    std::vector<std::string>& texts =
        judged.is_undecided ? options_.undecided : notes_;
    texts.push_back(std::move(judged.text));
  }
  return absl::OkStatus();
}

absl::Status Verifier::ReadIds() {
  std::ifstream file(options_.id_file);
  if (!file) {
    return absl::InvalidArgumentError(
        fmt::format("--ids {}: the file cannot be read: {}", options_.id_file,
                    std::strerror(errno)));
  }
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty()) continue;
    ExpectedRecord row;
    row.id = line;
    WALPOST_RETURN_IF_ERROR(audit_database_->Add(row));
  }
  return absl::OkStatus();
}

absl::Status Verifier::ReadTopics() {
  WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<PublishedRecords> reader,
                           options_.connect());
  brokers_ = reader->name();
  std::set<std::string> names = topics_;
  names.insert(options_.more_topics.begin(), options_.more_topics.end());
  WALPOST_ASSIGN_OR_RETURN(
      const std::set<std::string> topics,
      reader->FindTopics(names, TopicPrefixesWithDeadLetters(options_.outbox)));
  if (topics.empty() && names.empty()) {
    WALPOST_ASSIGN_OR_RETURN(const bool may_hide,
                             reader->MayHide(TopicPrefixes(options_.outbox)));
    if (may_hide || HasTopicsOfAnyName(options_.outbox)) {
      options_.undecided.push_back(
          "no topic was read: none exists, or its name is hidden from a user "
          "who has no right on it (walpost check -c FILE shows it)");
    }
  }
  const auto take = [&](FoundRecord& record) {
    if (++records_ % kProgressEvery == 0) {
      progress_(fmt::format("reading {}", brokers_), records_,
                static_cast<uint64_t>(reader->total()));
    }
    return TakeRecord(record);
  };
  WALPOST_RETURN_IF_ERROR(reader->Read(topics, take));
  WALPOST_ASSIGN_OR_RETURN(const DeletedRecords deleted,
                           reader->AddDeletedRecords(topics, *audit_database_));
  unseen_topic_ = deleted.unseen_topic;
  return absl::OkStatus();
}

absl::Status Verifier::TakeRecord(FoundRecord& record) {
  const EnvelopePayload payload(options_.outbox.value_format, record.value);
  record.value = payload.value();
  return audit_database_->Add(record);
}

// A record without its row may belong to a row that was committed after the
// table was read.
absl::Status Verifier::FindNewer() {
  std::vector<TableReader::Known> newer;
  std::vector<std::string> ids;
  absl::Status status;
  const auto look_up = [&] {
    if (ids.empty() || !status.ok()) return;
    absl::StatusOr<std::vector<TableReader::Known>> found =
        table_->FindIds(ids);
    ids.clear();
    status = found.status();
    if (found.ok()) newer.insert(newer.end(), found->begin(), found->end());
  };
  WALPOST_RETURN_IF_ERROR(audit_database_->Select(
      "SELECT DISTINCT id FROM found WHERE id IS NOT NULL AND NOT is_matched "
      "AND NOT EXISTS (SELECT 1 FROM expected WHERE expected.id = found.id AND "
      "(expected.topic IS NULL OR expected.topic = found.topic))",
      [&](const AuditDatabase::Row& row) {
        ids.push_back(row.Text(0));
        if (ids.size() == kIdsPerLookup) look_up();
      }));
  look_up();
  WALPOST_RETURN_IF_ERROR(status);
  for (const TableReader::Known& row : newer) {
    WALPOST_RETURN_IF_ERROR(audit_database_->AddNewer(row.id, row.topic));
  }
  return absl::OkStatus();
}

}  // namespace walpost
