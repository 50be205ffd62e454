#include "cli/recovery/accept_gap.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "app/checkpoint/checkpoint_service.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint_scope.h"
#include "checkpoint/coverage.h"
#include "fmt/format.h"
#include "log/log.h"
#include "outbox/numbering.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

absl::Status CheckSlot(const Config& config, const SlotInspection& inspection) {
  const std::string& slot = config.postgres.slot;
  const char* trouble = nullptr;
  if (!inspection.diagnosis.slot) {
    trouble = "does not exist";
  } else if (inspection.diagnosis.slot->wal_status == "lost") {
    trouble = "is lost";
  }
  if (trouble == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "slot {} {}: there is no slot to continue with. Run walpost recover -c "
      "FILE, which publishes the rows that are missing and makes a new slot; "
      "or walpost init -c FILE --fresh, which makes one without them",
      slot, trouble));
}

asio::awaitable<absl::Status> ReplaceBirthRecord(
    Connection& connection, const Config& config,
    const SlotInspection& inspection, const BirthRecord& record) {
  const std::string& publication = config.postgres.publication;
  const absl::Status written =
      co_await WriteBirthRecord(connection, publication, record);
  if (inspection.diagnosis.birth && absl::IsFailedPrecondition(written)) {
    // It would report the gap again.
    co_return absl::FailedPreconditionError(fmt::format(
        "the gap of slot {} stays on record, because this role does not own "
        "publication {}: run the same as its owner, with --set "
        "postgres.conninfo='... user=OWNER'",
        record.slot, publication));
  }
  if (inspection.diagnosis.birth && !written.ok()) co_return written;
  if (!written.ok()) {
    LogWarn("the birth of slot {} is not on record: {}", record.slot,
            std::string(written.message()));
  }
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<absl::Status> AcceptGap(asio::any_io_executor executor,
                                        const Config& config,
                                        SlotInspection inspection) {
  absl::Status status = CheckSlot(config, inspection);
  if (!status.ok()) co_return status;
  const Lsn stands = inspection.diagnosis.slot->confirmed_flush_lsn;
  const ConnectionOptions options = TaskSession(config.postgres, "recover");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      BirthRecord record,
      co_await DescribeBirth(*connection, config.postgres.publication,
                             config.outbox.tables, config.postgres.slot,
                             stands));
  record.kafka_cluster = inspection.kafka_cluster;
  record.coverage = CarryPassedOver(WithoutMissingTables(record.coverage),
                                    inspection.diagnosis.known_coverage);
  // The slot continues at its position. That is not its beginning, or an
  // initial snapshot would assume that nothing was streamed yet.
  const std::optional<BirthRecord>& before = inspection.diagnosis.birth;
  if (before && before->system_identifier == record.system_identifier) {
    record.consistent_point = std::min(before->consistent_point, stands);
  }
  status = co_await ReplaceBirthRecord(*connection, config, inspection, record);
  if (!status.ok()) co_return status;
  CheckpointScope begin;
  begin.system_identifier = record.system_identifier;
  begin.timeline = record.timeline;
  begin.slot = config.postgres.slot;
  begin.birth = stands;
  begin.numbering = NumberingOf(config.outbox, config.postgres.publication);
  begin.coverage = record.coverage;
  begin.kafka_cluster = record.kafka_cluster;
  Checkpoint checkpoint = BeginAtBirth(std::move(begin));
  co_return co_await StoreCheckpoint(executor, config, std::move(checkpoint));
}

}  // namespace walpost
