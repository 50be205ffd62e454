#include "cli/shared/slot_inspection.h"

#include <memory>
#include <utility>

#include "app/checkpoint/checkpoint_service.h"
#include "base/status_macros.h"
#include "delivery/gap.h"
#include "delivery/topic_ids.h"
#include "fmt/format.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/task_session.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Counting decodes the WAL once more: at most this much.
constexpr uint64_t kMaxDecodedBytes = uint64_t{1} << 30;
constexpr std::chrono::seconds kDecodeLimit{30};

// Counts transactional messages of the prefix: 'M', flags, LSN, prefix, 0
// (pgoutput/decoder.h).
std::string CountMessagesSql(Connection& connection, const Config& config) {
  return fmt::format(
      "SELECT count(*) FROM pg_catalog.pg_logical_slot_peek_binary_changes({}, "
      "NULL, NULL, 'proto_version', '1', 'publication_names', {}, 'messages', "
      "'true') WHERE get_byte(data, 0) = 77 AND get_byte(data, 1) = 1 AND "
      "substring(data FROM 11 FOR octet_length(convert_to({}, 'UTF8')) + 1) = "
      "convert_to({}, 'UTF8') || '\\x00'::bytea",
      connection.Literal(config.postgres.slot),
      PublicationList(connection, config.postgres.publication),
      connection.Literal(config.outbox.messages.prefix),
      connection.Literal(config.outbox.messages.prefix));
}

asio::awaitable<std::string> CountMessages(Connection& connection,
                                           const Config& config,
                                           const SlotInspection& inspection) {
  if (inspection.diagnosis.slot->wal_status == "lost") {
    co_return "an unknown number of logical messages (the slot is lost)";
  }
  if (inspection.pending_bytes > kMaxDecodedBytes) {
    co_return fmt::format(
        "an unknown number of logical messages (more than {} bytes to decode)",
        kMaxDecodedBytes);
  }
  const std::string limit =
      fmt::format("SET statement_timeout = '{}s'", kDecodeLimit.count());
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(limit);
  if (rows.ok()) {
    rows = co_await connection.Execute(CountMessagesSql(connection, config));
  }
  if (!rows.ok()) {
    co_return fmt::format("an unknown number of logical messages ({})",
                          std::string(rows.status().message()));
  }
  co_return fmt::format("{} logical messages", rows->Unsigned(0, 0));
}

// A topic of the checkpoint that was made again is a gap. `run` notices it at
// its first record.
absl::Status CompareTopics(const SeenBrokers& brokers,
                           SlotInspection& inspection) {
  const bool has_gap = inspection.diagnosis.kind == GapDiagnosis::Kind::kGap;
  const auto& checkpoint = inspection.checkpoint;
  if (has_gap || !checkpoint.ok() || !*checkpoint || !brokers.topic_ids) {
    return absl::OkStatus();
  }
  TopicIds known;
  known.Reset((*checkpoint)->kafka_topics);
  const std::vector<std::string> topics = known.topics();
  if (topics.empty()) return absl::OkStatus();
  WALPOST_ASSIGN_OR_RETURN(auto ids,
                           brokers.topic_ids({topics.begin(), topics.end()}));
  for (const auto& [topic, id] : ids) {
    if (!id.empty() && known.Knows(topic)) known.Observe(topic, id);
  }
  if (known.replaced().empty()) return absl::OkStatus();
  inspection.diagnosis.kind = GapDiagnosis::Kind::kGap;
  inspection.diagnosis.gap = kGapKafkaReplaced;
  inspection.diagnosis.text = known.replaced();
  return absl::OkStatus();
}

asio::awaitable<absl::Status> MeasurePending(Connection& connection,
                                             const Config& config,
                                             SlotInspection& inspection) {
  const std::string sql = fmt::format(
      "SELECT pg_catalog.pg_current_wal_flush_lsn(), greatest(0, "
      "pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_flush_lsn(), "
      "'{}'))::bigint",
      inspection.diagnosis.slot->confirmed_flush_lsn.ToString());
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows, co_await connection.Execute(sql));
  inspection.wal_end = Lsn::Parse(rows.Text(0, 0)).value_or(Lsn());
  inspection.pending_bytes = rows.Unsigned(0, 1);
  if (config.outbox.messages.enabled() && !inspection.is_in_use()) {
    inspection.pending_messages =
        co_await CountMessages(connection, config, inspection);
  }
  co_return absl::OkStatus();
}

}  // namespace

asio::awaitable<absl::StatusOr<SlotInspection>> InspectSlot(
    asio::any_io_executor executor, const Config& config, SeenBrokers brokers,
    InspectPending pending) {
  SlotInspection inspection;
  inspection.kafka_cluster = brokers.cluster;
  ConnectionOptions options = TaskSession(config.postgres, "inspection");
  options.replication = pending == InspectPending::kYes;
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<SlotState> slot,
      co_await FindSlot(*connection, config.postgres.slot));
  const bool is_in_kafka = config.checkpoint.is_in_kafka();
  if (is_in_kafka && brokers.are_silent) {
    inspection.checkpoint = absl::UnavailableError(
        "it was not read, because Kafka does not answer");
  } else if (!slot || !slot->active) {
    inspection.checkpoint = co_await LoadCheckpoint(executor, config);
    if (pending == InspectPending::kYes &&
        absl::IsUnavailable(inspection.checkpoint.status())) {
      co_return inspection.checkpoint.status();
    }
  }
  GapQuestion question;
  question.slot = config.postgres.slot;
  question.publication = config.postgres.publication;
  question.tables = config.outbox.tables;
  if (inspection.checkpoint.ok()) question.checkpoint = *inspection.checkpoint;
  question.kafka_cluster = inspection.kafka_cluster;
  absl::StatusOr<GapDiagnosis> diagnosis =
      co_await DiagnoseGap(*connection, std::move(question));
  if (!diagnosis.ok()) co_return diagnosis.status();
  inspection.diagnosis = *std::move(diagnosis);
  WALPOST_CO_RETURN_IF_ERROR(CompareTopics(brokers, inspection));
  if (pending == InspectPending::kYes && inspection.diagnosis.slot) {
    WALPOST_CO_RETURN_IF_ERROR(
        co_await MeasurePending(*connection, config, inspection));
  }
  co_return inspection;
}

}  // namespace walpost
