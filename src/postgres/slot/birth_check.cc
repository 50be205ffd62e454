#include "postgres/slot/birth_check.h"

#include <vector>

#include "base/status_macros.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/checkpoint_options.h"
#include "checkpoint/coverage.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/publication.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

void BirthCheck::Add(Severity severity, FindingId id, std::string text,
                     std::string remedy) {
  findings_.push_back({severity, std::move(id),
                       fmt::format("birth of slot {}", options_.slot),
                       std::move(text), std::move(remedy)});
}

asio::awaitable<absl::StatusOr<Findings>> BirthCheck::Run() {
  absl::Status status = co_await Observe();
  if (!status.ok()) co_return status;
  if (!rights_.exists) co_return findings_;
  if (sight_.birth) {
    CheckRecord();
    status = co_await CheckTables();
  } else {
    status = co_await CheckMissing();
  }
  if (!status.ok()) co_return status;
  co_return findings_;
}

asio::awaitable<absl::Status> BirthCheck::Observe() {
  WALPOST_CO_ASSIGN_OR_RETURN(rights_, co_await FindPublicationRights(
                                           connection_, options_.publication));
  if (!rights_.exists) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(sight_,
                              co_await LookAtSlot(connection_, options_));
  co_return absl::OkStatus();
}

void BirthCheck::CheckRecord() {
  const std::string born = sight_.birth->consistent_point.ToString();
  if (sight_.birth->system_identifier != sight_.system_identifier) {
    return Add(
        Severity::kError, FindingId(kGapOtherCluster),
        fmt::format("is on record as of system {}, and this is system "
                    "{}: the database is a copy, or the wrong one",
                    sight_.birth->system_identifier, sight_.system_identifier),
        "correct postgres.conninfo; or walpost recover -c FILE, when the "
        "database has moved here; or walpost init -c FILE --fresh, when it "
        "begins a life of its own");
  }
  if (!sight_.slot) {
    return Add(
        Severity::kError, FindingId(kGapSlotMissing),
        fmt::format("is on record, at {}, but the slot is missing: run "
                    "will not make another one",
                    born),
        "walpost recover -c FILE --dry-run, then walpost recover -c FILE");
  }
  if (rights_.may_alter) {
    return Add(Severity::kOk, FindingId("birth_record_ok"),
               fmt::format("is on record, at {}", born));
  }
  Add(Severity::kNote, FindingId("birth_record_read_only"),
      fmt::format("is on record, at {}, but role {} does not own publication "
                  "{}: walpost recover -c FILE and walpost init -c FILE "
                  "--fresh cannot change it",
                  born, rights_.role, options_.publication),
      "run those two as the owner of the publication");
}

// Without a checkpoint store, run puts each table on record before it streams.
asio::awaitable<absl::Status> BirthCheck::CheckTables() {
  if (has_store_ || rights_.may_alter || !sight_.birth->added) {
    co_return absl::OkStatus();
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Coverage now,
      co_await ReadCoverage(connection_, options_.publication, outbox_.tables));
  const std::string cannot = fmt::format(
      "role {} does not own publication {} and cannot put it on record, and "
      "checkpoint.store is none",
      rights_.role, options_.publication);
  const std::vector<Coverage::Table> added = AddedTables(
      Coverage::Parse(CoverageOf(*sight_.birth, Announced::kYes)), now);
  for (const Coverage::Table& table : added) {
    findings_.push_back(
        {Severity::kError, FindingId("new_table_not_recordable"),
         fmt::format("table {}", table.name),
         fmt::format("is new, and run does not stream: {}", cannot),
         "walpost init -c FILE --admin CONNINFO, as the owner, puts it on "
         "record; or set checkpoint.store"});
  }
  if (added.empty() && !outbox_.patterns.empty()) {
    findings_.push_back(
        {Severity::kWarning, FindingId("later_table_not_recordable"),
         "outbox.tables",
         fmt::format("a table that comes later by a pattern holds up all "
                     "tables: {}",
                     cannot),
         fmt::format(
             "set checkpoint.store to {}; or let walpost init -c FILE --admin "
             "CONNINFO, as the owner, add each table",
             CheckpointOptions::kKeepers)});
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> BirthCheck::CheckMissing() {
  if (rights_.may_alter) {
    Add(Severity::kNote, FindingId("birth_record_pending"),
        "is not on record yet; run will write it");
    co_return absl::OkStatus();
  }
  const std::string text = fmt::format(
      "is not on record, and role {} cannot write it, because it does not own "
      "publication {}: a slot that is dropped is not noticed",
      rights_.role, options_.publication);
  if (!sight_.slot && options_.create) {
    Add(Severity::kError, FindingId(kFindingBirthRecordNotWritable),
        fmt::format("is not on record, and role {} cannot write it, because it "
                    "does not own publication {}: run will not create a slot "
                    "that may have been there before",
                    rights_.role, options_.publication),
        "run walpost init -c FILE --admin CONNINFO as the owner of the "
        "publication");
    co_return absl::OkStatus();
  }
  std::string remedy = "make the slot, then run walpost check -c FILE again";
  if (sight_.slot && has_other_user_) {
    remedy =
        "when the other program is stopped: walpost check -c FILE has the SQL "
        "for the owner of the publication, and so has walpost run -c FILE "
        "--from-lsn LSN, if you begin with that";
  } else if (sight_.slot) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        BirthRecord record,
        co_await DescribeBirth(connection_, options_.publication,
                               outbox_.tables, options_.slot,
                               sight_.slot->confirmed_flush_lsn));
    WALPOST_CO_ASSIGN_OR_RETURN(
        std::string sql,
        co_await BirthRecordSql(connection_, options_.publication, record));
    remedy = fmt::format(
        "as the owner of the publication, unless you begin with --from-lsn, "
        "whose SQL run has: {};",
        sql);
  }
  Add(Severity::kWarning, FindingId(kFindingBirthRecordNotWritable), text,
      remedy);
  co_return absl::OkStatus();
}

}  // namespace walpost
