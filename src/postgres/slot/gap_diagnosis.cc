#include "postgres/slot/gap_diagnosis.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/reason_code.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "checkpoint/continuity.h"
#include "checkpoint/coverage.h"
#include "checkpoint/settled_table.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/system_identity.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

using Kind = GapDiagnosis::Kind;

// The server keeps what is decoded in a temporary file.
constexpr std::chrono::seconds kDecodeLimit{10};

void SetGap(GapDiagnosis& diagnosis, std::string gap, std::string text) {
  diagnosis.kind = Kind::kGap;
  diagnosis.gap = std::move(gap);
  diagnosis.text = std::move(text);
}

bool IsReplicationConnection(Connection& connection) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfo(connection.raw()), PQconninfoFree);
  for (const PQconninfoOption* option = options.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (std::strcmp(option->keyword, "replication") == 0) {
      return option->val != nullptr && *option->val != '\0';
    }
  }
  return false;
}

asio::awaitable<absl::Status> Observe(Connection& connection,
                                      const GapDiagnosis& diagnosis,
                                      ObservedSource& observed) {
  const std::string sql =
      "SELECT system_identifier, CASE WHEN pg_catalog.pg_is_in_recovery() THEN "
      "(SELECT timeline_id FROM pg_catalog.pg_control_checkpoint()) ELSE ('x' "
      "|| left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), "
      "8))::bit(32)::bigint END, CASE WHEN pg_catalog.pg_is_in_recovery() THEN "
      "pg_catalog.pg_last_wal_replay_lsn() ELSE "
      "pg_catalog.pg_current_wal_flush_lsn() END FROM "
      "pg_catalog.pg_control_system()";
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  observed.system_identifier = rows.Text(0, 0);
  observed.timeline = static_cast<uint32_t>(rows.Unsigned(0, 1));
  observed.wal_end = Lsn::Parse(rows.Text(0, 2)).value_or(Lsn());
  if (diagnosis.slot) {
    observed.slot = ObservedSource::Slot{diagnosis.slot->confirmed_flush_lsn,
                                         diagnosis.slot->wal_status == "lost",
                                         diagnosis.slot->failover,
                                         diagnosis.slot->invalidation_reason};
  }
  co_return absl::OkStatus();
}

// The birth record says where the slot began, not on which timeline it was used
// last, so its timeline is not compared.
KnownSource Known(const GapQuestion& question, const GapDiagnosis& diagnosis) {
  using By = KnownSource::By;
  KnownSource known;
  if (const auto& birth = diagnosis.birth) {
    known.by = By::kBirthRecord;
    known.system_identifier = birth->system_identifier;
    known.birth = birth->consistent_point;
    known.coverage = CoverageOf(*birth, Announced::kNo);
    known.kafka_cluster = birth->kafka_cluster;
  }
  const auto& checkpoint = question.checkpoint;
  if (!checkpoint) return known;
  known.by = By::kCheckpoint;
  known.system_identifier = checkpoint->system_identifier;
  known.timeline = checkpoint->timeline;
  known.birth = checkpoint->birth;
  known.confirmed = checkpoint->confirmed;
  known.coverage = MergeCoverage(checkpoint->coverage, known.coverage);
  if (!checkpoint->kafka_cluster.empty()) {
    known.kafka_cluster = checkpoint->kafka_cluster;
  }
  return known;
}

// A gap that was reported before, and not resolved yet.
bool FindLatched(const GapQuestion& question, GapDiagnosis& diagnosis) {
  std::optional<Gap> gap;
  if (question.checkpoint) gap = ParseGap(question.checkpoint->gap);
  if (!gap && diagnosis.birth) gap = ParseGap(diagnosis.birth->gap);
  if (gap) SetGap(diagnosis, gap->code, gap->text);
  return gap.has_value();
}

// Decodes what the slot has not confirmed. The server rejects a change (from 18
// on, it warns) if the publication did not exist then.
asio::awaitable<absl::Status> DecodePending(Connection& connection,
                                            const GapQuestion& question) {
  const std::string limit =
      fmt::format("SET statement_timeout = '{}s'", kDecodeLimit.count());
  WALPOST_CO_RETURN_IF_ERROR((co_await connection.Execute(limit)).status());
  connection.TakeWarnings();
  const std::string sql = fmt::format(
      "SELECT count(*) FROM "
      "pg_catalog.pg_logical_slot_peek_binary_changes({}, NULL, NULL, "
      "'proto_version', '1', 'publication_names', {})",
      connection.Literal(question.slot),
      PublicationList(connection, question.publication));
  const absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  absl::Status status = rows.status();
  for (const Connection::Warning& warning : connection.TakeWarnings()) {
    if (warning.sqlstate != kSqlstateNotInPrerequisiteState) continue;
    const absl::Status missing = absl::FailedPreconditionError(warning.text);
    status = WithSqlstate(missing, kSqlstateUndefinedObject);
  }
  const std::string reset = "RESET statement_timeout";
  WALPOST_CO_RETURN_IF_ERROR((co_await connection.Execute(reset)).status());
  co_return status;
}

// A slot cannot see a publication that is younger than the slot: rows committed
// before it can never be decoded. If something is on record, the coverage shows
// it; a dropped publication has taken its record along.
//
// An older publication is in order. A younger one need not be missing: a slot
// inherits the catalog_xmin of the oldest slot of the server when it is made.
// Only the WAL tells.
asio::awaitable<absl::Status> CompareAges(Connection& connection,
                                          const GapQuestion& question,
                                          GapDiagnosis& diagnosis) {
  const std::string sql = fmt::format(
      "SELECT p.oid IS NULL OR age(p.xmin) <= age(s.catalog_xmin), p.oid IS "
      "NULL FROM pg_catalog.pg_replication_slots s LEFT JOIN "
      "pg_catalog.pg_publication p ON p.pubname = {} WHERE s.slot_name = {}",
      connection.Literal(question.publication),
      connection.Literal(question.slot));
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  if (!rows.ok()) co_return rows.status();
  if (rows->size() == 0 || !rows->Bool(0, 0)) co_return absl::OkStatus();
  const absl::Status decoded = co_await DecodePending(connection, question);
  if (decoded.ok()) co_return decoded;
  if (SqlstateOf(decoded).empty()) co_return decoded;  // of the connection
  const bool is_missing = rows->Bool(0, 1);
  if (SqlstateOf(decoded) != kSqlstateUndefinedObject) {
    diagnosis.doubt = fmt::format(
        "publication {} {} slot {}, and whether rows were committed before it "
        "is not known: {}",
        question.publication,
        is_missing ? "is missing, and a new one would be younger than"
                   : "may be younger than",
        question.slot, std::string(decoded.message()));
    co_return absl::OkStatus();
  }
  SetGap(diagnosis, kReasonPublicationMissing,
         fmt::format("publication {} {} than slot {}: rows that were "
                     "committed before it cannot be decoded; {}",
                     question.publication,
                     is_missing ? "is missing, and a new one would be younger"
                                : "is younger",
                     question.slot, kRecover));
  co_return absl::OkStatus();
}

void Judge(const GapQuestion& question, const ObservedSource& observed,
           GapDiagnosis& diagnosis) {
  KnownSource known = Known(question, diagnosis);
  // A slot is never used on an older timeline than that of its birth.
  if (diagnosis.birth && known.by == KnownSource::By::kBirthRecord &&
      diagnosis.birth->timeline > observed.timeline) {
    known.timeline = diagnosis.birth->timeline;
  }
  const Continuity continuity = JudgeContinuity(known, observed, question.slot);
  switch (continuity.kind) {
    case Continuity::Kind::kFirstStart:
      diagnosis.kind = Kind::kNothingKnown;
      if (!observed.slot || !observed.slot->is_lost) return;
      return SetGap(diagnosis, kGapSlotLost,
                    fmt::format("slot {} is lost: the server removed WAL that "
                                "it needed; {}",
                                question.slot, kRecoverSlot));
    case Continuity::Kind::kGoOn:
    case Continuity::Kind::kFollowPromotion:
      return;
    case Continuity::Kind::kGap:
      return SetGap(diagnosis, continuity.gap, continuity.text);
  }
}

}  // namespace

asio::awaitable<absl::StatusOr<GapDiagnosis>> DiagnoseGap(
    Connection& connection, GapQuestion question) {
  GapDiagnosis diagnosis;
  if (question.checkpoint && question.checkpoint->slot != question.slot) {
    question.checkpoint.reset();
  }
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> slot,
                              co_await FindSlot(connection, question.slot));
  diagnosis.slot = std::move(slot);
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, question.publication,
                               question.slot));
  diagnosis.birth = std::move(birth);
  WALPOST_CO_ASSIGN_OR_RETURN(
      Coverage coverage,
      co_await ReadCoverage(connection, question.publication, question.tables));
  diagnosis.known_coverage = Known(question, diagnosis).coverage;
  const std::string& known = diagnosis.known_coverage;
  WALPOST_CO_RETURN_IF_ERROR(co_await RequirePublicationOfRecord(
      connection, question.publication, coverage, known));
  diagnosis.former_names = FormerNames(Coverage::Parse(known), coverage);
  diagnosis.has_unsettled_table =
      !known.empty() &&
      std::ranges::any_of(coverage.tables,
                          [&known](const Coverage::Table& table) {
                            return IsUnsettled(known, table);
                          });
  if (FindLatched(question, diagnosis)) co_return diagnosis;
  ObservedSource observed;
  absl::Status status = co_await Observe(connection, diagnosis, observed);
  if (!status.ok()) co_return status;
  observed.coverage = coverage.ToString();
  observed.kafka_cluster = question.kafka_cluster;
  const uint32_t left = Known(question, diagnosis).timeline;
  if (left != 0 && left < observed.timeline &&
      IsReplicationConnection(connection)) {
    observed.fork = co_await FindFork(connection, observed.timeline, left);
  }
  Judge(question, observed, diagnosis);
  if (diagnosis.kind != Kind::kNothingKnown) co_return diagnosis;
  status = co_await CompareAges(connection, question, diagnosis);
  if (!status.ok()) co_return status;
  co_return diagnosis;
}

}  // namespace walpost
