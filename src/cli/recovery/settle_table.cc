#include "cli/recovery/settle_table.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "app/checkpoint/checkpoint_service.h"
#include "base/status_macros.h"
#include "base/xid.h"
#include "fmt/format.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/slot.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// A walpost that waits takes the lock of its checkpoint file for a moment.
constexpr std::chrono::seconds kStoreLimit{10};
constexpr std::chrono::milliseconds kStorePause{200};

}  // namespace

asio::awaitable<absl::Status> TableSettlement::Begin() {
  const ConnectionOptions options = TaskSession(config_.postgres, "replay");
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  co_return co_await Look();
}

asio::awaitable<absl::Status> TableSettlement::Look() {
  const std::string& publication = config_.postgres.publication;
  WALPOST_CO_ASSIGN_OR_RETURN(
      slot_, co_await FindSlot(*connection_, config_.postgres.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      birth_, co_await ReadBirthRecord(*connection_, publication,
                                       config_.postgres.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Coverage coverage,
      co_await ReadCoverage(*connection_, publication, config_.outbox.tables));
  for (const Coverage::Table& table : coverage.tables) {
    if (table.name == table_) now_ = table;
  }
  co_return absl::OkStatus();
}

absl::Status TableSettlement::CheckSlot(
    const std::optional<SlotState>& before) const {
  const bool has_moved =
      before && slot_ &&
      before->confirmed_flush_lsn != slot_->confirmed_flush_lsn;
  if (slot_ && !slot_->active && !has_moved) return absl::OkStatus();
  return absl::AbortedError(fmt::format(
      "a walpost has slot {}, and may pass over rows of table {}: restart it "
      "with this table in outbox.tables, then run this again if it is not "
      "ready",
      config_.postgres.slot, table_));
}

bool TableSettlement::IsUnsettledNow() const {
  if (checkpoint_ && !checkpoint_->coverage.empty() &&
      IsUnsettled(checkpoint_->coverage, now_)) {
    return true;
  }
  if (!birth_ || birth_->coverage.empty()) return false;
  return !(config_.checkpoint.has_store() && checkpoint_) &&
         IsUnsettledOnRecord();
}

// Nobody passes over a table that is announced without putting that on record.
bool TableSettlement::IsUnsettledOnRecord() const {
  const Announced counts =
      config_.checkpoint.has_store() ? Announced::kNo : Announced::kYes;
  return IsUnsettled(CoverageOf(*birth_, counts), now_);
}

asio::awaitable<absl::Status> TableSettlement::End(bool with_altered) {
  const std::optional<SlotState> before = slot_;
  WALPOST_CO_RETURN_IF_ERROR(co_await Look());
  WALPOST_CO_ASSIGN_OR_RETURN(checkpoint_,
                              co_await ReadCheckpoint(executor_, config_));
  const bool is_unsettled = IsUnsettledNow();
  // A walpost that has the table takes up later rows, wherever the slot stands.
  const absl::Status alone = CheckSlot(before);
  if (is_unsettled && !alone.ok()) co_return alone;
  SettledTable settled{now_, kFirstTransaction, WallTime(), Lsn()};
  if (slot_) settled.at = slot_->confirmed_flush_lsn;
  if (with_altered) {
    WALPOST_CO_ASSIGN_OR_RETURN(const RecordFence fence,
                                co_await ReadFence(*connection_));
    settled.published_from = fence.transaction;
    settled.published_since = fence.time;
  }
  if (is_unsettled && checkpoint_) {
    WALPOST_CO_RETURN_IF_ERROR(co_await SettleCheckpoint(settled));
  }
  co_return co_await SettleRecord(settled);
}

asio::awaitable<absl::Status> TableSettlement::SettleCheckpoint(
    SettledTable settled) {
  asio::steady_timer timer(executor_);
  const MonotonicTime until = Clock::now() + kStoreLimit;
  for (;;) {
    Checkpoint checkpoint = *checkpoint_;
    checkpoint.coverage = Settle(checkpoint.coverage, settled);
    const absl::Status stored =
        co_await StoreCheckpoint(executor_, config_, std::move(checkpoint));
    if (!absl::IsUnavailable(stored) || Clock::now() > until) co_return stored;
    timer.expires_after(kStorePause);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// The record of an older release does not tell which tables were taken up.
asio::awaitable<absl::Status> TableSettlement::SettleRecord(
    SettledTable settled) {
  const std::string& publication = config_.postgres.publication;
  const bool is_of_older_release = birth_ && !birth_->added;
  if (!birth_ || birth_->coverage.empty() || is_of_older_release) {
    co_return absl::OkStatus();
  }
  const BirthRecord record = Settle(*birth_, settled);
  if (!config_.checkpoint.has_store() && IsUnsettledOnRecord()) {
    const std::string consequence = fmt::format(
        "the brokers have all rows of table {}, but walpost goes on only when "
        "that is "
        "on record",
        table_);
    co_return co_await RequireBirthRecord(*connection_, publication, record,
                                          consequence);
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const PublicationRights rights,
      co_await FindPublicationRights(*connection_, publication));
  if (!rights.may_alter) co_return absl::OkStatus();
  co_return co_await WriteBirthRecord(*connection_, publication, record);
}

}  // namespace walpost
