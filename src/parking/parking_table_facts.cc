#include "parking/parking_table_facts.h"

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Problem = ParkingTableProblem;

std::string WhatIsUnknown(const ParkingTableFacts& facts) {
  return fmt::format(
      "which keys of slot {} are parked, and which events have dead letters, "
      "is not known",
      facts.slot);
}

Problem Missing(std::string text, std::string_view how_to_restore) {
  return {FindingId(kReasonParkedTableMissing), std::move(text),
          fmt::format("{}; or, to go on without what was in it, run walpost "
                      "parked -c FILE accept --why REASON",
                      how_to_restore),
          kReasonParkedTableMissing};
}

Problem RunAsOwner(FindingId id, std::string text,
                   const ParkingTableFacts& facts) {
  return {std::move(id), std::move(text),
          fmt::format("run as the owner of the schema (sql/parked.sql): {}",
                      facts.grant_sql)};
}

std::optional<Problem> FindProblemOfTable(const ParkingTableFacts& facts) {
  if (!facts.is_table) {
    return Problem{FindingId("parked_table_not_a_table"),
                   fmt::format("{} is not a table", facts.name),
                   "correct parking.table"};
  }
  if (!facts.has_events) {
    return Problem{FindingId("parked_table_foreign"),
                   fmt::format("table {} is not one of parked events "
                               "(sql/parked.sql): it lacks their columns",
                               facts.name),
                   "correct parking.table"};
  }
  if (!facts.is_durable) {
    return Problem{
        FindingId("parked_table_unlogged"),
        fmt::format("table {} is unlogged, so a crash of Postgres empties it",
                    facts.name),
        fmt::format("run as its owner: ALTER TABLE {} SET LOGGED;",
                    facts.quoted)};
  }
  if (facts.hides_rows) {
    return Problem{
        FindingId("parked_table_row_security"),
        fmt::format("row-level security hides rows of table {} from role {}",
                    facts.name, facts.role),
        fmt::format(
            "run as its owner: ALTER TABLE {} DISABLE ROW LEVEL SECURITY;",
            facts.quoted)};
  }
  if (!facts.missing_rights.empty()) {
    return RunAsOwner(FindingId("parked_table_rights_missing"),
                      fmt::format("table {} of parked events: role {} lacks {}",
                                  facts.name, facts.role, facts.missing_rights),
                      facts);
  }
  if (!facts.is_current && !(facts.is_owner && facts.may_create)) {
    return RunAsOwner(
        FindingId("parked_table_outdated"),
        fmt::format("table {} was made by an earlier release and lacks "
                    "columns, and role {} may not add them",
                    facts.name, facts.role),
        facts);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> FindProblemOfHistory(const ParkingTableFacts& facts) {
  const ParkedTable& known = facts.on_record;
  if (known.name.empty()) return std::nullopt;
  // Also if it was renamed.
  if (facts.exists() && facts.oid == known.oid) return std::nullopt;
  if (known.name == facts.name && facts.exists()) {
    return Problem{
        FindingId(kReasonParkedTableMissing),
        fmt::format("table {} is not the one that slot {} has used: it was "
                    "made again, and {}",
                    facts.name, facts.slot, WhatIsUnknown(facts)),
        "restore its rows; then, or to go on without them, run walpost parked "
        "-c FILE accept --why REASON",
        kReasonParkedTableMissing};
  }
  if (known.name == facts.name) {
    return Missing(fmt::format("table {} is missing, and existed before: {}",
                               facts.name, WhatIsUnknown(facts)),
                   "put it back");
  }
  if (facts.recorded_oid_now != known.oid) {
    return Missing(
        fmt::format("slot {} has used table {}, which is missing: {}",
                    facts.slot, known.name, WhatIsUnknown(facts)),
        fmt::format("put it back, and set parking.table: {}", known.name));
  }
  if (!facts.recorded_is_in_use) return std::nullopt;
  return Problem{
      FindingId(kReasonParkedTableMissing),
      fmt::format("parking.table is {}, and events of slot {} are in table {}",
                  facts.name, facts.slot, known.name),
      fmt::format("set parking.table: {}", known.name),
      kReasonParkedTableMissing};
}

std::optional<Problem> FindParkingTableProblem(const ParkingTableFacts& facts) {
  std::optional<Problem> problem = FindProblemOfHistory(facts);
  if (problem) return problem;
  if (facts.exists()) return FindProblemOfTable(facts);
  if (!facts.is_wanted) return std::nullopt;
  if (!facts.may_create) {
    return RunAsOwner(
        FindingId("parked_table_not_creatable"),
        fmt::format(
            "table {} of parked events is missing, and role {} may not make it",
            facts.name, facts.role),
        facts);
  }
  if (facts.may_record) return std::nullopt;
  return RunAsOwner(
      FindingId("parked_table_history_unknown"),
      fmt::format("table {} of parked events is missing, and it cannot be "
                  "known whether slot {} has used it, because role {} does not "
                  "own the publication, whose comment would say so",
                  facts.name, facts.slot, facts.role),
      facts);
}

absl::Status ToStatus(const ParkingTableProblem& problem) {
  const absl::Status status = absl::FailedPreconditionError(
      fmt::format("{}; {}", problem.text, problem.remedy));
  return problem.reason_code.empty()
             ? status
             : WithReasonCode(status, problem.reason_code);
}

absl::Status JudgeParkingTable(const ParkingTableFacts& facts) {
  const std::optional<Problem> problem = FindParkingTableProblem(facts);
  return problem ? ToStatus(*problem) : absl::OkStatus();
}

Findings CheckParkingTable(const ParkingTableFacts& facts) {
  const std::string subject = fmt::format("parking.table {}", facts.name);
  if (std::optional<Problem> problem = FindParkingTableProblem(facts)) {
    return {{Severity::kError, std::move(problem->id), subject,
             std::move(problem->text), std::move(problem->remedy)}};
  }
  if (!facts.exists() && !facts.is_wanted) return {};
  const char* text = "can be written";
  if (MustMakeTable(facts)) {
    text = facts.exists() ? "gets the columns of this release" : "will be made";
  }
  if (facts.may_record || !facts.is_wanted) {
    return {{Severity::kOk, FindingId("parked_table_ok"), subject, text, ""}};
  }
  return {{Severity::kWarning, FindingId("parked_table_not_recordable"),
           subject,
           fmt::format("{}, but nothing would notice if it were dropped while "
                       "walpost is down: role {} does not own the publication",
                       text, facts.role),
           "make the role of walpost the owner of the publication"}};
}

bool MustMakeTable(const ParkingTableFacts& facts) {
  return facts.exists() ? !facts.is_current : facts.is_wanted;
}

}  // namespace walpost
