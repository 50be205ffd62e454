#include "postgres/source_setup.h"

#include <vector>

#include "absl/strings/str_split.h"
#include "base/reason_code.h"
#include "fmt/format.h"
#include "postgres/guard_slot.h"
#include "postgres/preflight.h"
#include "postgres/publication.h"
#include "postgres/replication_stream.h"
#include "postgres/slot.h"
#include "postgres/sqlstate.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Waiting for other transactions while a slot is made.
constexpr std::chrono::milliseconds kSlotCreationLimit{60'000};
// A walpost that lives reports more often.
constexpr std::chrono::seconds kSilenceOfTheDead{5};

// "1\t0/3000158\tno recovery target specified": the timeline, where it was
// left, why.
std::optional<Lsn> ForkOf(const std::string& history, uint32_t left) {
  const std::vector<std::string> lines = absl::StrSplit(history, '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, '\t');
    if (words.size() < 2 || words[0] != std::to_string(left)) continue;
    const auto lsn = Lsn::Parse(words[1]);
    if (lsn.ok()) return *lsn;
  }
  return std::nullopt;
}

}  // namespace

asio::awaitable<absl::Status> SourceSetup::Run(Connection& connection) {
  connection_ = &connection;
  absl::Status status = co_await Observe();
  if (status.ok() && slot_is_in_use_) status = co_await StandBy();
  if (status.ok()) status = Continue();
  if (status.ok()) status = CheckFromLsn();
  if (status.ok()) status = co_await RunPreflight();
  if (status.ok() && may_create()) status = co_await CreateWhatIsMissing();
  if (status.ok()) status = co_await Begin();
  if (status.ok()) status = co_await StartReplication();
  co_return status;
}

asio::awaitable<absl::Status> SourceSetup::Observe() {
  server_version_ = connection_->server_version();
  observed_ = {};
  const std::string command = "IDENTIFY_SYSTEM";
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(command);
  if (!rows.ok()) co_return rows.status();
  observed_.system_identifier = rows->Text(0, 0);
  observed_.timeline = static_cast<uint32_t>(rows->Unsigned(0, 1));
  observed_.wal_end = Lsn::Parse(rows->Text(0, 2)).value_or(Lsn());
  absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(*connection_, options_.slot);
  if (!slot.ok()) co_return slot.status();
  slot_is_in_use_ = *slot && (*slot)->active;
  if (*slot) {
    observed_.slot =
        ObservedSource::Slot{(*slot)->confirmed_flush_lsn,
                             (*slot)->wal_status == "lost", (*slot)->failover};
  }
  absl::StatusOr<std::optional<BirthRecord>> birth = co_await ReadBirthRecord(
      *connection_, options_.publication, options_.slot);
  if (!birth.ok()) co_return birth.status();
  birth_record_ = *birth;
  const uint32_t left = Known().timeline;
  if (left != 0 && left < observed_.timeline) co_await FindFork(left);
  co_return absl::OkStatus();
}

// While somebody else moves the slot there is nothing to judge.
// Nor when the server was promoted: who has the slot has judged that.
asio::awaitable<absl::Status> SourceSetup::StandBy() {
  if (IsOvertakenByPromotion()) co_return FollowPromotion();
  if (!has_streamed_) co_await EndDeadPredecessor();
  const std::string text = fmt::format("slot {} is in use", options_.slot);
  const absl::Status in_use = absl::UnavailableError(text);
  co_return WithSqlstate(in_use, kSqlstateObjectInUse);
}

// Where timeline `left` was left. Not every server still has that file.
asio::awaitable<void> SourceSetup::FindFork(uint32_t left) {
  const std::string command =
      fmt::format("TIMELINE_HISTORY {}", observed_.timeline);
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(command);
  if (!rows.ok() || rows->size() == 0) co_return;
  observed_.fork = ForkOf(rows->Text(0, 1), left);
}

// What is known from before; the checkpoint knows of other instances, too, but
// not of a promotion that was followed already.
KnownSource SourceSetup::Known() const {
  using By = KnownSource::By;
  if (checkpoint_ && (!has_streamed_ || checkpoint_->timeline >= timeline_)) {
    return {By::kCheckpoint, checkpoint_->system_identifier,
            checkpoint_->timeline, checkpoint_->birth, checkpoint_->confirmed};
  }
  if (has_streamed_) {
    return {By::kThisProcess, system_identifier_, timeline_, birth_,
            pipeline_.confirmed()};
  }
  if (birth_record_) {
    return {By::kBirthRecord, birth_record_->system_identifier, 0,
            birth_record_->consistent_point, Lsn()};
  }
  return {};
}

bool SourceSetup::IsOvertakenByPromotion() const {
  return has_streamed_ && observed_.timeline > timeline_ &&
         observed_.system_identifier == system_identifier_;
}

// What is in memory is of a WAL that has forked, whoever followed it first.
absl::Status SourceSetup::FollowPromotion() {
  const std::string text = fmt::format(
      "the server is on timeline {} now, and walpost was on {}: starting over",
      observed_.timeline, timeline_);
  timeline_ = observed_.timeline;
  pipeline_.SetTimeline(timeline_);
  promoted_ = true;
  return absl::AbortedError(text);
}

absl::Status SourceSetup::Continue() {
  const KnownSource known = Known();
  const Continuity continuity =
      JudgeContinuity(known, observed_, options_.slot);
  is_first_start_ = continuity.kind == Continuity::Kind::kFirstStart;
  if (continuity.gap == kGapSlotAdvanced &&
      std::exchange(suspected_after_, known.confirmed) != known.confirmed) {
    return absl::UnavailableError(
        "the slot is ahead of the checkpoint: looking again, in case another "
        "instance was just writing both");
  }
  if (continuity.kind == Continuity::Kind::kGap) {
    return WithReasonCode(absl::FailedPreconditionError(continuity.text),
                          continuity.gap);
  }
  birth_ = known.birth;
  const bool is_promotion =
      continuity.kind == Continuity::Kind::kFollowPromotion;
  if (is_promotion) spdlog::warn("{}", continuity.text);
  if (IsOvertakenByPromotion()) return FollowPromotion();
  system_identifier_ = observed_.system_identifier;
  timeline_ = observed_.timeline;
  pipeline_.SetTimeline(timeline_);
  if (is_promotion) return absl::OkStatus();
  if (known.by == KnownSource::By::kCheckpoint) {
    ResumeAt(known.confirmed, checkpoint_->position);
  }
  return absl::OkStatus();
}

// From here on the slot exists. Nothing was confirmed after where it stands,
// and nothing before its birth was ours: with --from-lsn that is ahead of the
// slot, until something is confirmed.
asio::awaitable<absl::Status> SourceSetup::Begin() {
  absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(*connection_, options_.slot);
  if (!slot.ok()) co_return slot.status();
  slot_position_ = *slot ? (*slot)->confirmed_flush_lsn : Lsn();
  co_await SetUpGuardSlot(*connection_, options_);
  Lsn begins = std::max(slot_position_, from_lsn_);
  if (birth_record_) begins = std::max(begins, birth_record_->consistent_point);
  ResumeAt(begins, Position());
  if (!is_first_start_) co_return absl::OkStatus();
  birth_ = begins;
  co_return co_await RecordBirth(begins);
}

asio::awaitable<absl::Status> SourceSetup::RecordBirth(Lsn begins) {
  const BirthRecord record{options_.slot, begins, system_identifier_};
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
    spdlog::warn(
        "the birth of slot {} is not on record, so one that is gone "
        "is not noticed at the next start: {}; walpost check has the SQL for "
        "the owner of the publication",
        options_.slot, std::string(written.message()));
  }
  co_return absl::OkStatus();
}

// --from-lsn: for the first start on a slot that others made. Later ones know
// better, and a flag that stays in a unit file must not harm them.
absl::Status SourceSetup::CheckFromLsn() {
  const Lsn from = options_.from_lsn;
  from_lsn_ = Lsn();
  if (!from.is_valid() || has_streamed_) return absl::OkStatus();
  if (!is_first_start_) {
    spdlog::warn(
        "--from-lsn {} is for the first start on slot {} and has no effect: "
        "the slot is in use since {}",
        from.ToString(), options_.slot, birth_.ToString());
    return absl::OkStatus();
  }
  const std::string option = fmt::format("--from-lsn {}", from.ToString());
  if (!observed_.slot) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: slot {} does not exist, and one that is made now begins now: "
        "leave it out, or publish from the table with walpost replay "
        "--from-table",
        option, options_.slot));
  }
  const Lsn stands = observed_.slot->confirmed;
  if (from < stands) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: slot {} stands at {}, and Postgres sends nothing from before "
        "that: leave it out, or publish from the table with walpost replay "
        "--from-table",
        option, options_.slot, stands.ToString()));
  }
  if (from > observed_.wal_end) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: the server's WAL ends at {}: what commits until there would be "
        "passed over; give an LSN that it has written",
        option, observed_.wal_end.ToString()));
  }
  from_lsn_ = from;
  return absl::OkStatus();
}

// What is in flight over a reconnect belongs to us, and we know best.
void SourceSetup::ResumeAt(Lsn confirmed, const Position& position) {
  if (pipeline_.window().empty()) pipeline_.Resume(confirmed, position);
}

// Publication first, slot second: a slot cannot see a publication that is
// younger than itself.
asio::awaitable<absl::Status> SourceSetup::CreateWhatIsMissing() {
  absl::StatusOr<bool> published =
      co_await PublicationExists(*connection_, options_.publication);
  if (!published.ok()) co_return published.status();
  if (!*published) {
    spdlog::info("creating publication {}", options_.publication);
    absl::Status created = co_await CreatePublication(
        *connection_, options_.publication, outbox_.tables);
    if (!created.ok()) co_return created;
  }
  absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(*connection_, options_.slot);
  if (!slot.ok() || slot->has_value()) co_return slot.status();
  spdlog::info("creating slot {}", options_.slot);
  const SlotFailover failover =
      options_.failover ? SlotFailover::kYes : SlotFailover::kNo;
  const MonotonicTime deadline = Clock::now() + kSlotCreationLimit;
  absl::StatusOr<Lsn> consistent_point = co_await CreateSlot(
      *connection_, options_.slot, SlotKind::kPermanent, failover, deadline);
  co_return consistent_point.status();
}

asio::awaitable<absl::Status> SourceSetup::RunPreflight() {
  WalSourceOptions options = options_;
  options.create = may_create();
  Preflight preflight(*connection_, options, outbox_,
                      pipeline_.builder().routes());
  absl::StatusOr<std::vector<Finding>> findings = co_await preflight.Run();
  if (!findings.ok()) co_return findings.status();
  const Finding* error = FirstError(*findings);
  if (error == nullptr) {
    findings_ = *std::move(findings);
    co_return absl::OkStatus();
  }
  const std::string since =
      has_streamed_ ? " (it was in order when walpost started: look for events"
                      " that are missing in Kafka)"
                    : "";
  const std::string remedy =
      error->remedy.empty() ? "" : fmt::format("; {}", error->remedy);
  co_return absl::FailedPreconditionError(
      fmt::format("{} {}{}{}", error->subject, error->text, since, remedy));
}

asio::awaitable<absl::Status> SourceSetup::StartReplication() {
  const std::string command = StartReplicationCommand(
      *connection_, options_.slot, pipeline_.confirmed(), options_.publication,
      outbox_.messages.enabled());
  absl::Status status = co_await connection_->StartCopyBoth(command);
  if (status.ok()) has_streamed_ = true;
  co_return status;
}

// The slot is held by what is left of an earlier run of ours: end that, so
// that the next attempt need not wait for wal_sender_timeout. One that lives
// reports every three seconds by the clock of our host, and in another
// container may have a pid that does not exist in ours. Only pg_read_all_stats
// sees that.
asio::awaitable<void> SourceSetup::EndDeadPredecessor() {
  const WallTime last_words = WallNow() - kSilenceOfTheDead;
  const std::string find = fmt::format(
      "SELECT r.pid, r.application_name FROM pg_catalog.pg_replication_slots s "
      "JOIN pg_catalog.pg_stat_replication r ON r.pid = s.active_pid "
      "WHERE s.slot_name = {} AND r.reply_time < to_timestamp({})",
      connection_->Literal(options_.slot),
      std::chrono::duration<double>(last_words.time_since_epoch()).count());
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(find);
  if (!rows.ok() || rows->size() == 0) co_return;
  const std::string holder = rows->Text(0, 1);
  if (!name_.IsDeadPredecessor(holder, &ProcessIsAlive)) co_return;
  spdlog::warn("ending the walsender that {}, which is gone, left behind",
               holder);
  const std::string end = fmt::format(
      "SELECT pg_catalog.pg_terminate_backend({})", rows->Text(0, 0));
  absl::StatusOr<QueryRows> ended = co_await connection_->Execute(end);
  if (!ended.ok()) spdlog::warn("{}", std::string(ended.status().message()));
}

}  // namespace walpost
