#include "postgres/catalog/publication_monitor.h"

#include <utility>

#include "base/join_named.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "log/log.h"
#include "outbox/table_pattern.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/catalog/publication_check.h"
#include "postgres/catalog/read_base_types.h"
#include "postgres/catalog/table_facts.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::string TextOf(const Finding& finding) {
  return finding.subject + " " + finding.text;
}

std::set<std::string> WarningsOf(const Findings& findings) {
  std::set<std::string> warnings;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kWarning)
      warnings.insert(TextOf(finding));
  }
  return warnings;
}

}  // namespace

PublicationMonitor::PublicationMonitor(WalSourceOptions options,
                                       OutboxOptions outbox,
                                       const std::vector<Route>& routes)
    : options_(std::move(options)),
      outbox_(std::move(outbox)),
      routes_(routes) {}

void PublicationMonitor::SetReference(const Findings& findings) {
  if (reference_) return;
  must_look_ = true;
  reference_ = WarningsOf(findings);
  options_.create = false;  // missing objects are now an error
}

void PublicationMonitor::SetCoverage(const std::string& coverage) {
  must_look_ = true;
  coverage_ = Coverage::Parse(coverage);
}

void PublicationMonitor::SetColumns(const BaseTypes& types) {
  must_look_ = true;
  has_other_columns_ = false;
  types_.reset();
  if (outbox_.debezium) types_ = types;
}

asio::awaitable<absl::Status> PublicationMonitor::Look(Connection& connection) {
  WALPOST_CO_RETURN_IF_ERROR(co_await LookForNewTables(connection));
  // Before the rest: a change meanwhile is seen the next time.
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::string digest,
      co_await ReadTableDigest(connection, options_.publication,
                               outbox_.tables));
  if (digest == digest_ && !must_look_) co_return absl::OkStatus();
  must_look_ = false;  // a new reference meanwhile needs another look
  const absl::Status status = co_await LookAtAll(connection);
  if (!status.ok()) must_look_ = true;
  digest_ = std::move(digest);
  co_return status;
}

// Those that are not published yet keep no other from being so.
asio::awaitable<absl::Status> PublicationMonitor::LookForNewTables(
    Connection& connection) {
  const absl::StatusOr<std::vector<MatchingTable>> matching =
      co_await FindMatchingTables(connection, options_.publication, outbox_);
  if (absl::IsFailedPrecondition(matching.status()) &&
      SqlstateOf(matching.status()).empty()) {
    new_tables_.clear();
    new_table_trouble_ = std::string(matching.status().message());
    new_table_digest_ = new_table_trouble_;
    co_return absl::OkStatus();
  }
  if (!matching.ok()) co_return matching.status();
  const std::vector<MatchingTable>& found = *matching;
  std::vector<TableOptions> entries;
  std::vector<std::string> published;
  std::vector<std::string> unpublished;
  for (const MatchingTable& table : found) {
    entries.emplace_back().name = table.name;
    (table.is_published ? published : unpublished).push_back(table.name);
  }
  std::string digest;
  if (!found.empty()) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        digest,
        co_await ReadTableDigest(connection, options_.publication, entries));
  }
  if (digest == new_table_digest_) co_return absl::OkStatus();
  if (unpublished.size() > 1) unpublished.resize(1);
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string unfit,
                              co_await FindTroubleOf(connection, published));
  WALPOST_CO_ASSIGN_OR_RETURN(const std::string unsent,
                              co_await FindTroubleOf(connection, unpublished));
  new_tables_.clear();
  if (unfit.empty()) new_tables_ = std::move(published);
  new_table_trouble_ = unfit.empty() ? unsent : unfit;
  new_table_digest_ = std::move(digest);
  co_return absl::OkStatus();
}

// Empty: they can be published.
asio::awaitable<absl::StatusOr<std::string>> PublicationMonitor::FindTroubleOf(
    Connection& connection, std::vector<std::string> names) {
  if (names.empty()) co_return "";
  OutboxOptions added = outbox_;
  added.tables.clear();
  const absl::Status matched = AddByPattern(added, names);
  if (!matched.ok()) co_return std::string(matched.message());
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<Route> routes,
                              Route::CreateAll(added));
  WalSourceOptions options = options_;
  options.create = false;
  PublicationCheck check(connection, options, added, routes);
  WALPOST_CO_ASSIGN_OR_RETURN(const Findings findings, co_await check.Run());
  const Finding* error = FirstError(findings);
  if (error == nullptr) co_return "";
  co_return fmt::format(
      "a table that is new by {} in outbox.tables cannot be published: {}{}{}",
      added.tables.front().pattern, TextOf(*error),
      error->remedy.empty() ? "" : "; ", error->remedy);
}

asio::awaitable<absl::Status> PublicationMonitor::LookAtAll(
    Connection& connection) {
  absl::Status status = co_await Check(connection);
  if (status.ok()) status = co_await CompareColumns(connection);
  if (!status.ok()) co_return status;
  WALPOST_CO_ASSIGN_OR_RETURN(
      Coverage coverage,
      co_await ReadCoverage(connection, options_.publication, outbox_.tables));
  gap_.reset();
  const std::string change =
      coverage_ ? DescribeChange(*coverage_, coverage) : "";
  if (change.empty()) co_return absl::OkStatus();
  // The change may have happened in between; the gap includes the problem now.
  if (trouble_.empty()) status = co_await Check(connection);
  gap_ = CoverageGap(change);
  co_return status;
}

asio::awaitable<absl::Status> PublicationMonitor::CompareColumns(
    Connection& connection) {
  if (!types_) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(const BaseTypes now,
                              co_await ReadBaseTypes(connection, outbox_));
  // Another stream may have begun meanwhile.
  has_other_columns_ = types_ && now.columns() != types_->columns();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> PublicationMonitor::Check(
    Connection& connection) {
  PublicationCheck check(connection, options_, outbox_, routes_);
  WALPOST_CO_ASSIGN_OR_RETURN(Findings findings, co_await check.Run());
  Compare(findings);
  co_return absl::OkStatus();
}

Gap PublicationMonitor::CoverageGap(const std::string& change) const {
  return {kGapCoverageChanged,
          fmt::format(
              "publication {}: {} while walpost was streaming, and "
              "Postgres does not send the rows that it did not cover "
              "meanwhile. {}{}{}Run walpost verify -c FILE to see which; {}",
              options_.publication, change,
              trouble_.empty() ? "" : "It was found with: ", trouble_,
              trouble_.empty() ? "" : ". ", kRecover)};
}

void PublicationMonitor::Compare(const Findings& findings) {
  const Finding* worst = FirstError(findings);
  is_error_ = worst != nullptr;
  std::vector<std::string> errors;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::kError) errors.push_back(TextOf(finding));
  }
  for (const Finding& finding : findings) {
    if (worst == nullptr && reference_ &&
        finding.severity == Severity::kWarning &&
        !reference_->contains(TextOf(finding))) {
      worst = &finding;
    }
  }
  const std::string before = std::exchange(trouble_, "");
  if (worst != nullptr) {
    const char* since =
        reference_ ? "it was in order before: rows that are committed "
                     "meanwhile are never sent"
                   : "rows that are committed meanwhile are never sent";
    if (errors.empty()) errors.push_back(TextOf(*worst));
    trouble_ = fmt::format("{} ({}){}{}", JoinNamed(errors, "errors"), since,
                           worst->remedy.empty() ? "" : "; ", worst->remedy);
  } else if (!before.empty()) {
    LogWarn(
        "publication {} covers the outbox again; rows that were committed "
        "while it did not were never sent: walpost verify -c FILE names them",
        options_.publication);
  }
}

}  // namespace walpost
