#include "postgres/slot/birth_check.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/publication.h"

namespace walpost {

namespace asio = boost::asio;

void BirthCheck::Add(Severity severity, std::string text, std::string remedy) {
  findings_.push_back({severity, fmt::format("birth of slot {}", options_.slot),
                       std::move(text), std::move(remedy)});
}

asio::awaitable<absl::StatusOr<Findings>> BirthCheck::Run() {
  absl::Status status = co_await Observe();
  if (!status.ok()) co_return status;
  if (!rights_.exists) co_return findings_;
  if (sight_.birth) {
    CheckRecord();
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
        Severity::kError,
        fmt::format("is on record as of system {}, and this is system "
                    "{}: the database is a copy, or the wrong one",
                    sight_.birth->system_identifier, sight_.system_identifier),
        "correct postgres.conninfo; or walpost recover -c FILE, when the "
        "database has moved here; or walpost init -c FILE --fresh, when it "
        "begins a life of its own");
  }
  if (!sight_.slot) {
    return Add(
        Severity::kError,
        fmt::format("is on record, at {}, but the slot is missing: run "
                    "will not make another one",
                    born),
        "walpost recover -c FILE --dry-run, then walpost recover -c FILE");
  }
  if (rights_.may_alter) {
    return Add(Severity::kOk, fmt::format("is on record, at {}", born));
  }
  Add(Severity::kNote,
      fmt::format("is on record, at {}, but role {} does not own publication "
                  "{}: walpost recover -c FILE and walpost init -c FILE "
                  "--fresh cannot change it",
                  born, rights_.role, options_.publication),
      "run those two as the owner of the publication");
}

asio::awaitable<absl::Status> BirthCheck::CheckMissing() {
  if (rights_.may_alter) {
    Add(Severity::kNote, "is not on record yet; run will write it");
    co_return absl::OkStatus();
  }
  const std::string text = fmt::format(
      "is not on record, and role {} cannot write it, because it does not own "
      "publication {}: a slot that is dropped is not noticed",
      rights_.role, options_.publication);
  if (!sight_.slot && options_.create) {
    Add(Severity::kError,
        fmt::format("is not on record, and role {} cannot write it, because it "
                    "does not own publication {}: run will not create a slot "
                    "that may have been there before",
                    rights_.role, options_.publication),
        "run walpost init -c FILE as the owner of the publication");
    co_return absl::OkStatus();
  }
  std::string remedy = "make the slot, then run walpost check -c FILE again";
  if (sight_.slot) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        BirthRecord record,
        co_await DescribeBirth(connection_, options_.publication, tables_,
                               options_.slot,
                               sight_.slot->confirmed_flush_lsn));
    WALPOST_CO_ASSIGN_OR_RETURN(
        std::string sql,
        co_await BirthRecordSql(connection_, options_.publication, record));
    remedy = fmt::format("as the owner of the publication: {};", sql);
  }
  Add(Severity::kWarning, text, remedy);
  co_return absl::OkStatus();
}

}  // namespace walpost
