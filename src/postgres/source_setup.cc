#include "postgres/source_setup.h"

#include "fmt/format.h"
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

}  // namespace

asio::awaitable<absl::Status> SourceSetup::Run(Connection& connection) {
  connection_ = &connection;
  absl::Status status = co_await IdentifySystem();
  if (status.ok()) status = co_await LookBeforeLeaping();
  if (status.ok() && may_create()) status = co_await CreateWhatIsMissing();
  if (status.ok()) status = co_await StartReplication();
  co_return status;
}

asio::awaitable<absl::Status> SourceSetup::IdentifySystem() {
  server_version_ = connection_->server_version();
  const std::string command = "IDENTIFY_SYSTEM";
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(command);
  if (!rows.ok()) co_return rows.status();
  const std::string system = rows->Text(0, 0);
  const auto timeline = static_cast<uint32_t>(std::stoul(rows->Text(0, 1)));
  if (has_streamed_ && (system != system_identifier_ || timeline < timeline_)) {
    co_return absl::FailedPreconditionError(fmt::format(
        "the server is now system {} on timeline {}; it was {} on timeline "
        "{}: what was in flight cannot be matched with it. Check that no "
        "committed event is missing there, then restart walpost",
        system, timeline, system_identifier_, timeline_));
  }
  if (has_streamed_ && timeline > timeline_) {
    co_return co_await FollowPromotion(timeline);
  }
  system_identifier_ = system;
  timeline_ = timeline;
  pipeline_.SetTimeline(timeline);
  co_return absl::OkStatus();
}

// A standby took over. Its WAL may fork before what we have read, so LSNs of
// before mean nothing any more, and only a slot that was kept in step knows
// from where on nothing was confirmed.
asio::awaitable<absl::Status> SourceSetup::FollowPromotion(uint32_t timeline) {
  absl::StatusOr<std::optional<SlotState>> found =
      co_await FindSlot(*connection_, options_.slot);
  if (!found.ok()) co_return found.status();
  const std::optional<SlotState>& slot = *found;
  const std::string event = fmt::format(
      "a standby was promoted (timeline {}, before {})", timeline, timeline_);
  if (!slot || !slot->failover) {
    co_return absl::FailedPreconditionError(fmt::format(
        "{}, and {}: events that were committed after {} and before a new slot "
        "is made are not in Kafka. Make the slot with walpost init, publish "
        "the difference from the outbox table, restart walpost; from "
        "PostgreSQL 17 on, failover slots prevent this (postgres.failover)",
        event,
        slot ? fmt::format("slot {} is no failover slot", options_.slot)
             : fmt::format("slot {} was not there", options_.slot),
        pipeline_.confirmed().ToString()));
  }
  if (slot->confirmed_flush_lsn > pipeline_.confirmed()) {
    co_return absl::FailedPreconditionError(fmt::format(
        "{}, and its slot {} stands at {}, behind which we confirmed nothing "
        "after {}: somebody else advanced it. Look for events that are "
        "missing in Kafka, then restart walpost",
        event, options_.slot, slot->confirmed_flush_lsn.ToString(),
        pipeline_.confirmed().ToString()));
  }
  timeline_ = timeline;
  pipeline_.SetTimeline(timeline);
  promoted_ = true;
  co_return absl::AbortedError(
      fmt::format("{}: going on from where its slot {} stands, {}", event,
                  options_.slot, slot->confirmed_flush_lsn.ToString()));
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

asio::awaitable<absl::Status> SourceSetup::LookBeforeLeaping() {
  WalSourceOptions options = options_;
  options.create = may_create();
  Preflight preflight(*connection_, options, outbox_,
                      pipeline_.builder().routes());
  absl::StatusOr<std::vector<Finding>> findings = co_await preflight.Run();
  if (!findings.ok()) co_return findings.status();
  const Finding* error = FirstError(*findings);
  if (error == nullptr) co_return absl::OkStatus();
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
  absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(*connection_, options_.slot);
  if (!slot.ok()) co_return slot.status();
  slot_position_ = *slot ? (*slot)->confirmed_flush_lsn : Lsn();
  const std::string command = StartReplicationCommand(
      *connection_, options_.slot, pipeline_.confirmed(), options_.publication,
      outbox_.messages.enabled());
  absl::Status status = co_await connection_->StartCopyBoth(command);
  if (SqlstateOf(status) == kSqlstateObjectInUse && !has_streamed_) {
    co_await EndDeadPredecessor();
  }
  if (status.ok()) has_streamed_ = true;
  co_return status;
}

// The slot is held by what is left of an earlier run of ours: end that, so
// that the next attempt need not wait for wal_sender_timeout.
asio::awaitable<void> SourceSetup::EndDeadPredecessor() {
  const std::string find = fmt::format(
      "SELECT a.pid, a.application_name FROM pg_catalog.pg_replication_slots s "
      "JOIN pg_catalog.pg_stat_activity a ON a.pid = s.active_pid "
      "WHERE s.slot_name = {}",
      connection_->Literal(options_.slot));
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
