#include "postgres/stream/source_setup.h"

#include <algorithm>
#include <vector>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "checkpoint/former_names.h"
#include "fmt/format.h"
#include "log/log.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/matching_tables.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/publication_comment.h"
#include "postgres/catalog/read_base_types.h"
#include "postgres/connect/sqlstate.h"
#include "postgres/connect/system_identity.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/decision_record.h"
#include "postgres/slot/replay_window_slot.h"
#include "postgres/slot/slot.h"
#include "postgres/stream/preflight.h"
#include "postgres/stream/replication_stream.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Limit for waiting for other transactions during slot creation.
constexpr std::chrono::milliseconds kSlotCreationLimit{60'000};
// Limit for all other statements together. A healthy server takes milliseconds.
constexpr std::chrono::seconds kSetupLimit{20};

}  // namespace

asio::awaitable<absl::Status> SourceSetup::Run(Connection& connection) {
  connection_ = &connection;
  connection_->set_deadline(Clock::now() + kSetupLimit);
  const absl::Status status = co_await RunSteps();
  connection_->set_deadline(std::nullopt);
  if (!absl::IsDeadlineExceeded(status)) co_return status;
  const std::string text = fmt::format(
      "Postgres did not answer the statements before a stream within {} s: {}; "
      "is it frozen or overloaded, or does another session lock what they "
      "read? SELECT pid, wait_event, pg_blocking_pids(pid), query FROM "
      "pg_stat_activity WHERE application_name = '{}';",
      kSetupLimit.count(), std::string(status.message()), name_.text());
  co_return absl::UnavailableError(text);
}

asio::awaitable<absl::Status> SourceSetup::RunSteps() {
  absl::Status status = co_await Observe();
  if (status.ok() && slot_is_in_use_) status = co_await StandBy();
  if (status.ok()) status = co_await LookForNewTables();
  if (status.ok()) status = co_await Continue();
  if (status.ok()) status = CheckFromLsn();
  if (status.ok()) status = co_await RunPreflight();
  if (status.ok() && may_create()) status = co_await CreateWhatIsMissing();
  if (status.ok()) status = co_await Begin();
  if (status.ok()) status = co_await StartReplication();
  if (status.ok()) new_tables_.Report();
  co_return status;
}

asio::awaitable<absl::Status> SourceSetup::Observe() {
  server_version_ = connection_->server_version();
  ObservedSource observed;
  WALPOST_CO_ASSIGN_OR_RETURN(const SystemIdentity server,
                              co_await IdentifySystem(*connection_));
  observed.system_identifier = server.system_identifier;
  observed.timeline = server.timeline;
  observed.wal_end = server.wal_end;
  observed.kafka_cluster = kafka_cluster_;
  WALPOST_CO_RETURN_IF_ERROR(co_await ReadSlot(observed));
  const uint32_t left = continuity_.left_timeline();
  if (left != 0) {
    continuity_.SetFork(
        co_await FindFork(*connection_, observed.timeline, left));
  }
  co_return absl::OkStatus();
}

// Reads the slot and the evidence to judge it by.
asio::awaitable<absl::Status> SourceSetup::ReadSlot(ObservedSource observed) {
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> slot,
                              co_await FindSlot(*connection_, options_.slot));
  slot_is_in_use_ = slot && slot->active;
  if (slot) {
    observed.slot = ObservedSource::Slot{
        slot->confirmed_flush_lsn, slot->wal_status == "lost", slot->failover,
        slot->invalidation_reason};
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(*connection_, options_.publication,
                               options_.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<std::string> comments,
      co_await ReadPublicationComments(*connection_, options_.publication));
  decisions_ = FindDecisionsIn(comments, options_.slot);
  pause_ = FindPause(comments, PauseSubject(options_.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      Coverage coverage,
      co_await ReadCoverage(*connection_, options_.publication,
                            outbox_.tables));
  observed.coverage = coverage.ToString();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const PublicationRights rights,
      co_await FindPublicationRights(*connection_, options_.publication));
  observed.may_write_record = rights.may_alter;
  continuity_.Observe(std::move(observed), std::move(birth));
  co_return absl::OkStatus();
}

// Another instance may have taken up tables that came meanwhile: without them,
// the record would have them as left out.
asio::awaitable<absl::Status> SourceSetup::LookForNewTables() {
  has_new_tables_ = false;
  const bool is_known = continuity_.has_streamed() && !has_waited_;
  if (is_known || continuity_.gap()) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<MatchingTable> found,
      co_await FindMatchingTables(*connection_, options_.publication, outbox_));
  has_new_tables_ = std::ranges::any_of(
      found, [](const MatchingTable& table) { return table.is_published; });
  if (!has_new_tables_) co_return absl::OkStatus();
  co_return absl::UnavailableError(
      "other tables match outbox.tables: beginning again with them");
}

asio::awaitable<absl::Status> SourceSetup::StandBy() {
  has_waited_ = true;
  const MonotonicTime now = Clock::now();
  WALPOST_CO_RETURN_IF_ERROR(co_await holder_.Look(*connection_, now));
  const absl::Status followed = continuity_.OnSlotInUse(holder_.is_walpost());
  if (!followed.ok()) co_return followed;
  if (!continuity_.has_streamed()) {
    co_await holder_.EndDeadPredecessor(*connection_);
  }
  const std::string text = fmt::format("slot {} is in use", options_.slot);
  const absl::Status in_use = absl::UnavailableError(text);
  co_return WithSqlstate(in_use, kSqlstateObjectInUse);
}

// Records a gap, if our role may write the record.
asio::awaitable<absl::Status> SourceSetup::Continue() {
  Coverage observed = Coverage::Parse(continuity_.observed().coverage);
  std::string known = continuity_.known_coverage();
  WALPOST_CO_RETURN_IF_ERROR(co_await RequirePublicationOfRecord(
      *connection_, options_.publication, std::move(observed),
      std::move(known)));
  WALPOST_CO_RETURN_IF_ERROR(co_await new_tables_.Look(*connection_));
  connection_->set_deadline(Clock::now() + kSetupLimit);
  absl::Status status = continuity_.Continue();
  if (status.ok()) {
    status = RequireFormerNames(outbox_.tables, continuity_.former_names());
  }
  if (continuity_.suspects_another_instance()) {
    WALPOST_CO_ASSIGN_OR_RETURN(const bool has_others,
                                co_await holder_.FindOthers(*connection_));
    if (has_others) continuity_.OnSlotInUse(/*by_walpost=*/true).IgnoreError();
  }
  if (!continuity_.promotion().empty()) LogWarn("{}", continuity_.promotion());
  const bool is_held = GapOf(status).has_value();
  const std::optional<BirthRecord> record = continuity_.RecordOfGap();
  if (!is_held || !record) co_return status;
  const absl::Status written =
      co_await WriteBirthRecord(*connection_, options_.publication, *record);
  if (!written.ok()) {
    LogDebug("the gap is not on record: {}", std::string(written.message()));
  }
  co_return status;
}

// From here on the slot exists. Nothing was confirmed after its position, and
// nothing before its birth was ours: with --from-lsn the birth is ahead of the
// slot, until something is confirmed.
asio::awaitable<absl::Status> SourceSetup::Begin() {
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> slot,
                              co_await FindSlot(*connection_, options_.slot));
  slot_position_ = slot ? slot->confirmed_flush_lsn : Lsn();
  co_await SetUpGuardSlot(*connection_, options_);
  begins_ = std::max(slot_position_, from_lsn_);
  if (continuity_.record()) {
    begins_ = std::max(begins_, continuity_.record()->consistent_point);
  }
  const absl::Status begun = continuity_.Begin(begins_);
  if (!begun.ok()) co_return begun;
  if (continuity_.is_first_start()) co_return co_await RecordBirth();
  co_return co_await UpdateRecord();
}

asio::awaitable<absl::Status> SourceSetup::UpdateRecord() {
  WALPOST_CO_ASSIGN_OR_RETURN(const RecordFence fence,
                              co_await ReadFence(*connection_));
  const std::optional<RecordUpdate> update =
      continuity_.UpdatedRecord(kafka_cluster_, fence);
  if (!update) co_return absl::OkStatus();
  if (!update->consequence.empty()) {
    co_return co_await RequireBirthRecord(*connection_, options_.publication,
                                          update->record, update->consequence);
  }
  const absl::Status written = co_await WriteBirthRecord(
      *connection_, options_.publication, update->record);
  if (!written.ok()) {
    LogDebug("the birth record is not brought up to date: {}",
             std::string(written.message()));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> SourceSetup::RecordBirth() {
  WALPOST_CO_ASSIGN_OR_RETURN(
      BirthRecord described,
      co_await DescribeBirth(*connection_, options_.publication, outbox_.tables,
                             options_.slot, begins_));
  BirthRecord record = continuity_.RecordOfBirth(std::move(described));
  record.kafka_cluster = kafka_cluster_;
  const std::string& publication = options_.publication;
  if (from_lsn_.is_valid()) {
    const std::string consequence = fmt::format(
        "--from-lsn {}: the next start would not know that slot {} begins "
        "there",
        from_lsn_.ToString(), options_.slot);
    co_return co_await RequireBirthRecord(*connection_, publication, record,
                                          consequence);
  }
  const absl::Status written =
      co_await WriteBirthRecord(*connection_, publication, record);
  if (!written.ok()) {
    LogWarn(
        "the birth of slot {} is not on record, so a missing slot is not "
        "noticed at the next start: {}; walpost check -c FILE has the SQL for "
        "the owner of the publication",
        options_.slot, std::string(written.message()));
  }
  co_return absl::OkStatus();
}

// --from-lsn: for the first start on a slot that others created. Later starts
// must ignore it, because it may stay in a unit file.
absl::Status SourceSetup::CheckFromLsn() {
  const Lsn from = options_.from_lsn;
  from_lsn_ = Lsn();
  if (!from.is_valid() || continuity_.has_streamed()) return absl::OkStatus();
  if (!continuity_.is_first_start()) {
    LogWarn(
        "--from-lsn {} is for the first start on a slot, and is ignored: slot "
        "{} has been in use since LSN {}",
        from.ToString(), options_.slot, continuity_.birth().ToString());
    return absl::OkStatus();
  }
  const ObservedSource& observed = continuity_.observed();
  const std::string option = fmt::format("--from-lsn {}", from.ToString());
  if (!observed.slot) {
    return absl::FailedPreconditionError(
        fmt::format("{}: slot {} does not exist, and one that is made now "
                    "begins now: leave it out, or publish from the table with "
                    "walpost replay -c FILE --from-table",
                    option, options_.slot));
  }
  const Lsn stands = observed.slot->confirmed;
  if (from < stands) {
    return absl::FailedPreconditionError(
        fmt::format("{}: slot {} stands at {}, and Postgres sends nothing from "
                    "before that: leave it out, or publish from the table with "
                    "walpost replay -c FILE --from-table",
                    option, options_.slot, stands.ToString()));
  }
  if (from > observed.wal_end) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: the server's WAL ends at {}: what commits until there would be "
        "passed over; give an LSN that it has written",
        option, observed.wal_end.ToString()));
  }
  from_lsn_ = from;
  return absl::OkStatus();
}

// A slot whose birth cannot be recorded may be the second one, and nobody would
// know (P9).
asio::awaitable<absl::Status> SourceSetup::RequireOwner() {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const PublicationRights rights,
      co_await FindPublicationRights(*connection_, options_.publication));
  if (rights.may_alter) co_return absl::OkStatus();
  const std::string text = fmt::format(
      "slot {0} does not exist, and role {1} does not own publication {2}, so "
      "it is not known whether there was such a slot before: run walpost init "
      "-c FILE --admin CONNINFO as the owner of publication {2}, which creates "
      "the slot and "
      "puts that on record",
      options_.slot, rights.role, options_.publication);
  co_return absl::FailedPreconditionError(text);
}

// Publication first, slot second: a slot cannot see a publication that is
// younger than the slot.
asio::awaitable<absl::Status> SourceSetup::CreateWhatIsMissing() {
  WALPOST_CO_ASSIGN_OR_RETURN(
      bool published,
      co_await PublicationExists(*connection_, options_.publication));
  if (!published) {
    LogInfo("creating publication {}", options_.publication);
    WALPOST_CO_RETURN_IF_ERROR(co_await CreatePublication(
        *connection_, options_.publication, outbox_.tables));
  }
  absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(*connection_, options_.slot);
  if (!slot.ok() || slot->has_value()) co_return slot.status();
  WALPOST_CO_RETURN_IF_ERROR(co_await RequireOwner());
  LogInfo("creating slot {}", options_.slot);
  const SlotFailover failover =
      options_.failover ? SlotFailover::kYes : SlotFailover::kNo;
  holder_.NoteOwnBackend(PQbackendPID(connection_->raw()));
  const MonotonicTime deadline = Clock::now() + kSlotCreationLimit;
  absl::StatusOr<Lsn> consistent_point =
      co_await CreateSlot(*connection_, options_.slot, SlotKind::kPermanent,
                          SlotSnapshot::kNone, failover, deadline);
  connection_->set_deadline(Clock::now() + kSetupLimit);
  co_return consistent_point.status();
}

asio::awaitable<absl::Status> SourceSetup::RunPreflight() {
  WalSourceOptions options = options_;
  options.create = may_create();
  Preflight preflight(*connection_, options, outbox_, routes_);
  WALPOST_CO_ASSIGN_OR_RETURN(Findings findings, co_await preflight.Run());
  const Finding* error = FirstError(findings);
  if (error == nullptr) {
    findings_ = std::move(findings);
    co_return absl::OkStatus();
  }
  const std::string since =
      continuity_.has_streamed()
          ? " (it was in order when walpost started: look for events"
            " that are missing in Kafka)"
          : "";
  const std::string remedy =
      error->remedy.empty() ? "" : fmt::format("; {}", error->remedy);
  co_return absl::FailedPreconditionError(
      fmt::format("{} {}{}{}", error->subject, error->text, since, remedy));
}

asio::awaitable<absl::Status> SourceSetup::StartReplication() {
  WALPOST_CO_ASSIGN_OR_RETURN(base_types_,
                              co_await ReadBaseTypes(*connection_, outbox_));
  StreamRequest stream;
  stream.slot = options_.slot;
  stream.start = begins_;
  stream.publication = options_.publication;
  stream.messages = outbox_.messages.enabled();
  const absl::Status status =
      co_await walpost::StartReplication(*connection_, std::move(stream));
  if (status.ok()) continuity_.OnStreaming();
  if (status.ok()) has_waited_ = false;
  co_return status;
}

}  // namespace walpost
