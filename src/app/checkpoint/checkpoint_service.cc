#include "app/checkpoint/checkpoint_service.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "app/checkpoint/checkpoint_stores.h"
#include "base/error_source.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "base/time.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/coverage.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "outbox/numbering.h"
#include "postgres/catalog/transaction_id_column.h"
#include "postgres/slot/observed_slot.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// PendingLoad: result of a checkpoint store that a coroutine waits for. Shared
// with the callback, which may come after the wait.
class PendingLoad {
 public:
  // After a save: nullopt, or its error.
  using Loaded = absl::StatusOr<std::optional<Checkpoint>>;

  explicit PendingLoad(asio::any_io_executor executor) : arrived_(executor) {}

  void Arrive(Loaded loaded) {
    loaded_ = std::move(loaded);
    arrived_.cancel();
  }

  // Waits for the answer, at most until `deadline`.
  asio::awaitable<void> WaitUntil(MonotonicTime deadline) {
    if (loaded_) co_return;
    arrived_.expires_at(deadline);
    co_await arrived_.async_wait(kAsTuple);
  }

  // nullopt: not answered yet.
  const std::optional<Loaded>& loaded() const { return loaded_; }

 private:
  asio::steady_timer arrived_;
  std::optional<Loaded> loaded_;
};

namespace {

constexpr std::chrono::seconds kLoadLimit{30};
// Interval for checking whether a busy store has answered.
constexpr std::chrono::milliseconds kBusyInterval{20};

using Loaded = PendingLoad::Loaded;

using Loading = void (CheckpointStore::*)(CheckpointStore::Loaded done);

std::shared_ptr<PendingLoad> AskToLoad(asio::any_io_executor executor,
                                       CheckpointStore& store,
                                       Loading load = &CheckpointStore::Load) {
  auto answer = std::make_shared<PendingLoad>(executor);
  (store.*load)([answer](Loaded loaded) { answer->Arrive(std::move(loaded)); });
  return answer;
}

// Tells a store that several systems share which one is meant. Returns it;
// empty: the store does not care.
asio::awaitable<absl::StatusOr<std::string>> TellSource(
    asio::any_io_executor executor, const WalSourceOptions& postgres,
    CheckpointStore& store) {
  if (!store.is_shared_by_systems()) co_return "";
  WALPOST_CO_ASSIGN_OR_RETURN(
      SourceIdentity identity,
      co_await IdentifySource(executor, postgres.server, postgres.publication,
                              postgres.slot));
  std::string system = identity.system_identifier;
  store.SetSource(std::move(identity));
  co_return system;
}

absl::Status NoAnswer(const CheckpointStore& store) {
  return absl::UnavailableError(fmt::format("{} did not answer within {} s",
                                            store.Name(), kLoadLimit.count()));
}

asio::awaitable<Loaded> LoadBy(Loading load, asio::any_io_executor executor,
                               const Config& config) {
  const std::unique_ptr<CheckpointStore> store =
      MakeCheckpointStore(executor, config, CheckpointStore::Access::kRead);
  if (store == nullptr) co_return std::nullopt;
  const absl::StatusOr<std::string> told =
      co_await TellSource(executor, config.postgres, *store);
  if (!told.ok()) co_return told.status();
  const std::shared_ptr<PendingLoad> answer = AskToLoad(executor, *store, load);
  co_await answer->WaitUntil(Clock::now() + kLoadLimit);
  if (!answer->loaded()) co_return NoAnswer(*store);
  co_return *answer->loaded();
}

void WarnOfResend(const Position& position) {
  LogWarn(
      {{"position", ToString(position)}},
      "the checkpoint stands at event {} of the transaction that commits at "
      "{}, counted by other outbox.tables, outbox.messages.prefix or "
      "postgres.publication: that transaction is sent again as a whole, with "
      "other ordinals in walpost-position",
      position.ordinal, position.commit_lsn.ToString());
}

}  // namespace

CheckpointService::CheckpointService(asio::any_io_executor executor,
                                     const Config& config,
                                     const WalProgress& progress,
                                     TransactionBatcher* batcher,
                                     PassedOverRows& passed_over,
                                     std::function<void()> on_saved)
    : executor_(executor),
      slot_(config.postgres.slot),
      postgres_(config.postgres),
      numbering_(NumberingOf(config.outbox, config.postgres.publication)),
      has_transaction_ids_(HasTransactionIds(config.outbox)),
      is_in_kafka_(config.checkpoint.is_in_kafka()),
      is_in_transactions_(config.transactions.is_on),
      store_(MakeCheckpointStore(executor, config)),
      writer_(store_.get(), config.checkpoint.interval, progress,
              std::move(on_saved), batcher, &passed_over),
      busy_timer_(executor) {}

asio::awaitable<absl::Status> CheckpointService::Load() {
  if (store_ == nullptr) co_return absl::OkStatus();
  const MonotonicTime deadline = Clock::now() + kLoadLimit;
  while (writer_.is_busy() && Clock::now() < deadline) {
    busy_timer_.expires_after(kBusyInterval);
    co_await busy_timer_.async_wait(kAsTuple);
  }
  if (writer_.is_busy()) co_return NoAnswer(*store_);
  // A load that timed out before may still be pending: stores take one call at
  // a time.
  if (asked_ == nullptr) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        system_identifier_, co_await TellSource(executor_, postgres_, *store_));
    asked_ = AskToLoad(executor_, *store_);
    if (!unread_since_) unread_since_ = Clock::now();
  }
  const std::shared_ptr<PendingLoad> answer = asked_;
  co_await answer->WaitUntil(deadline);
  if (!answer->loaded()) {
    const absl::Status none = NoAnswer(*store_);
    co_return is_in_kafka_ ? FromKafka(none) : none;
  }
  asked_.reset();
  Loaded loaded = *answer->loaded();
  const absl::Status& status = loaded.status();
  if (absl::IsDataLoss(status)) {
    const std::string text(status.message());
    const absl::Status unreadable = absl::FailedPreconditionError(text);
    co_return WithReasonCode(unreadable, kReasonCheckpointUnreadable);
  }
  if (!status.ok()) co_return status;
  unread_since_.reset();
  loaded_ = *std::move(loaded);
  if (loaded_ && !loaded_->gap.empty()) has_gap_ = true;
  if (!loaded_ && KnowsLast()) {
    LogWarn("{} has lost the checkpoint: going on behind the last one",
            store_->Name());
    loaded_ = writer_.saved();
  }
  if (loaded_ && loaded_->slot != slot_) {
    const std::string text = fmt::format(
        "{} holds the checkpoint of slot {}, not of {}: correct postgres.slot, "
        "or give each slot a checkpoint of its own",
        store_->Name(), loaded_->slot, slot_);
    const absl::Status foreign = absl::FailedPreconditionError(text);
    co_return WithReasonCode(foreign, kReasonCheckpointOfAnotherSlot);
  }
  if (loaded_) {
    const Position position = loaded_->position;
    if (Renumber(*loaded_, numbering_)) WarnOfResend(position);
  }
  co_return absl::OkStatus();
}

// What this process has committed is in Kafka, even if somebody has deleted the
// record of it meanwhile. After a gap it would read as an operator's decision:
// that is a checkpoint without the gap.
bool CheckpointService::KnowsLast() const {
  const Checkpoint& saved = writer_.saved();
  return is_in_transactions_ && !has_gap_ && saved.confirmed.is_valid() &&
         saved.system_identifier == system_identifier_;
}

CheckpointScope CheckpointService::Complete(CheckpointScope session) const {
  session.slot = slot_;
  session.numbering = numbering_;
  return session;
}

void CheckpointService::Begin(CheckpointScope session, Sink* sink) {
  if (store_ != nullptr) store_->SetSink(sink);
  has_gap_ = false;
  writer_.Begin(ContinueFrom(loaded_, Complete(std::move(session))));
}

void CheckpointService::Pause() {
  writer_.Pause();
  if (store_ != nullptr) store_->SetSink(nullptr);
}

asio::awaitable<void> CheckpointService::Keep(Gap gap,
                                              CheckpointScope session) {
  has_gap_ = true;
  is_storing_gap_ = false;
  if (store_ == nullptr || writer_.is_busy() || is_loading()) co_return;
  co_await StoreGap(std::move(gap), std::move(session));
  if (!is_storing_gap_) store_->Release();
}

asio::awaitable<void> CheckpointService::StoreGap(Gap gap,
                                                  CheckpointScope session) {
  const auto foreign = store_->is_shared_by_systems()
                           ? ForeignCheckpoint::kApart
                           : ForeignCheckpoint::kInOurPlace;
  const std::optional<Checkpoint> checkpoint =
      CheckpointOfGap(gap, loaded_, writer_.saved(),
                      Complete(std::move(session)), WallNow(), foreign);
  if (!checkpoint) co_return;
  const auto answer = std::make_shared<PendingLoad>(executor_);
  store_->Save(*checkpoint, [answer](absl::Status status) {
    answer->Arrive(status.ok() ? Loaded(std::nullopt) : Loaded(status));
  });
  co_await answer->WaitUntil(Clock::now() + kLoadLimit);
  absl::Status status = NoAnswer(*store_);
  is_storing_gap_ = !answer->loaded();
  if (answer->loaded()) status = answer->loaded()->status();
  if (!status.ok()) {
    LogWarn({{"reason_code", gap.code}},
            "the gap {} cannot be kept in {}, and a restart may not know "
            "it: {}",
            gap.code, store_->Name(), std::string(status.message()));
  }
}

void CheckpointService::SaveIfDue(bool hurry) {
  writer_.SaveIfDue(Clock::now(), WallNow(), hurry);
}

void CheckpointService::AddTo(RelayStatus& status) const {
  status.restart_lsn = writer_.confirmable();
  if (store_ == nullptr) return;
  status.checkpoint_store = store_->Name();
  status.checkpoint = writer_.saved();
}

void CheckpointService::AddTo(RelaySigns& signs) const {
  if (is_in_kafka_ && unread_since_) {
    signs.unread_checkpoint = store_->Name();
    signs.checkpoint_unread_for =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                              *unread_since_);
  }
  const auto committing = writer_.busy_since();
  signs.in_transactions = is_in_transactions_;
  if (signs.in_transactions && committing) {
    signs.committing_for =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                              *committing);
  }
  const auto failing = writer_.failing_since();
  if (!failing) return;
  signs.checkpoint_failing_for =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                            *failing);
  signs.checkpoint_trouble = writer_.status();
}

void CheckpointService::OnReport(const SlotReport& report) {
  // Changes that the publication does not cover are not sent: until a restart
  // no horizon may pass them, not even after the publication is fixed.
  if (!report.publication_trouble.empty()) has_transaction_ids_ = false;
  if (has_transaction_ids_) writer_.OnHorizon(report.horizon);
}

asio::awaitable<Loaded> LoadCheckpoint(asio::any_io_executor executor,
                                       const Config& config) {
  return LoadBy(&CheckpointStore::Load, executor, config);
}

asio::awaitable<Loaded> ReadCheckpoint(asio::any_io_executor executor,
                                       const Config& config) {
  return LoadBy(&CheckpointStore::LoadUnlocked, executor, config);
}

asio::awaitable<absl::Status> StoreCheckpoint(asio::any_io_executor executor,
                                              const Config& config,
                                              Checkpoint checkpoint) {
  const std::unique_ptr<CheckpointStore> store =
      MakeCheckpointStore(executor, config);
  if (store == nullptr) co_return absl::OkStatus();
  const auto answer = std::make_shared<PendingLoad>(executor);
  checkpoint.written_at = WallNow();
  store->Replace(checkpoint, [answer](absl::Status status) {
    answer->Arrive(status.ok() ? Loaded(std::nullopt) : Loaded(status));
  });
  co_await answer->WaitUntil(Clock::now() + kLoadLimit);
  if (!answer->loaded()) co_return NoAnswer(*store);
  co_return answer->loaded()->status();
}

asio::awaitable<absl::StatusOr<std::string>> ReadKnownCoverage(
    asio::any_io_executor executor, const Config& config,
    const std::optional<BirthRecord>& birth) {
  std::string known = birth ? CoverageOf(*birth, Announced::kNo) : "";
  WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<Checkpoint> loaded,
                              co_await ReadCheckpoint(executor, config));
  if (loaded && !loaded->coverage.empty()) {
    known = MergeCoverage(loaded->coverage, known);
  }
  co_return known;
}

asio::awaitable<absl::StatusOr<SlotHistory>> FindStreamHistory(
    asio::any_io_executor executor, const Config& config,
    const ObservedSlot& sight) {
  const SlotHistory of_server = HistoryOf(
      sight.slot, sight.birth, sight.system_identifier, HasCheckpoint::kNo);
  if (!IsBeforeFirstStream(of_server)) co_return of_server;
  const absl::StatusOr<std::optional<Checkpoint>> loaded =
      co_await LoadCheckpoint(executor, config);
  const bool has_checkpoint =
      absl::IsDataLoss(loaded.status()) || (loaded.ok() && loaded->has_value());
  if (!has_checkpoint && !loaded.ok()) co_return loaded.status();
  const HasCheckpoint has =
      has_checkpoint ? HasCheckpoint::kYes : HasCheckpoint::kNo;
  co_return HistoryOf(sight.slot, sight.birth, sight.system_identifier, has);
}

}  // namespace walpost
