#include "cli/check/check_postgres.h"

#include <boost/asio/io_context.hpp>
#include <memory>
#include <utility>

#include "app/backfill/snapshot_session.h"
#include "app/live/existing_rows_warning.h"
#include "app/process/retention_service.h"
#include "app/sink/transactional_ids.h"
#include "base/server_version.h"
#include "base/sql_name.h"
#include "base/status_macros.h"
#include "checkpoint/former_names.h"
#include "cli/shared/slot_inspection.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "polling/polling_check.h"
#include "postgres/catalog/partition_monitor.h"
#include "postgres/connect/instance_name.h"
#include "postgres/connect/system_identity.h"
#include "postgres/parking/parking_check.h"
#include "postgres/slot/birth_check.h"
#include "postgres/slot/failover_check.h"
#include "postgres/slot/pause_record.h"
#include "postgres/slot/slot_holder.h"
#include "postgres/stream/preflight.h"
#include "retention/retention_check.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

using Found = absl::StatusOr<Findings>;
using Connected = absl::StatusOr<std::unique_ptr<Connection>>;

asio::awaitable<Connected> Connect(asio::any_io_executor executor,
                                   ServerOptions server,
                                   bool replication = false) {
  ConnectionOptions options;
  options.server = std::move(server);
  options.application_name = "walpost:check";
  options.replication = replication;
  co_return co_await Connection::Connect(executor, options);
}

// Compares earlier knowledge with the present state, as `recover` does. A
// running walpost knows more, and shows it in the record of the slot.
asio::awaitable<Found> CheckContinuity(asio::any_io_executor executor,
                                       const Config& config,
                                       const SinkFindings& kafka) {
  SeenBrokers brokers;
  brokers.cluster = kafka.cluster_id;
  brokers.are_silent = !kafka.answers;
  brokers.topic_ids = [&kafka](const std::set<std::string>&) {
    return kafka.topic_ids;
  };
  WALPOST_CO_ASSIGN_OR_RETURN(
      SlotInspection inspection,
      co_await InspectSlot(executor, config, std::move(brokers),
                           InspectPending::kNo));
  const GapDiagnosis& diagnosis = inspection.diagnosis;
  Findings findings;
  const absl::Status& stored = inspection.checkpoint.status();
  if (!stored.ok()) {
    findings.push_back(
        {Severity::kError,
         FindingIdOf(stored, FindingId("checkpoint_unavailable")), "checkpoint",
         std::string(stored.message()), ""});
  }
  if (diagnosis.kind == GapDiagnosis::Kind::kGap) {
    findings.push_back({Severity::kError, FindingId(diagnosis.gap),
                        fmt::format("gap [{}]", diagnosis.gap), diagnosis.text,
                        ""});
  }
  const absl::Status named =
      RequireFormerNames(config.outbox.tables, diagnosis.former_names);
  if (!named.ok()) {
    findings.push_back({Severity::kError, FindingId("table_renamed"),
                        "outbox.tables", std::string(named.message()), ""});
  }
  if (!diagnosis.doubt.empty()) {
    findings.push_back({Severity::kNote, FindingId("publication_age_unknown"),
                        fmt::format("slot {}", config.postgres.slot),
                        diagnosis.doubt, ""});
  }
  co_return findings;
}

// Removes remedies that would hide a gap, if there is one, or if a checkpoint
// that may have one cannot be read.
void WithdrawRemedies(const Config& config, const Findings& gaps,
                      Findings& findings) {
  if (gaps.empty()) return;
  const std::string slot = fmt::format("slot {}", config.postgres.slot);
  const std::string publication =
      fmt::format("publication {}", config.postgres.publication);
  for (Finding& finding : findings) {
    const bool is_of_the_stream =
        finding.subject == slot || finding.subject == publication;
    if (is_of_the_stream && finding.text == kDoesNotExist) {
      finding.remedy = "first what is said of the gap or the checkpoint, below";
    }
  }
}

// Sessions that run has at the same time: the stream, the one beside it, and
// the one that looks for parked events; more if state is in tables.
int CountSessions(const Config& config) {
  int sessions = 3;
  if (config.checkpoint.is_in_source()) ++sessions;
  if (config.postgres.replay.enabled()) ++sessions;
  return sessions;
}

asio::awaitable<Found> CheckConnectionLimit(Connection& connection,
                                            const Config& config) {
  const std::string sql =
      "SELECT rolname, rolconnlimit FROM pg_catalog.pg_roles WHERE rolname = "
      "current_user AND rolconnlimit >= 0 AND NOT rolsuper";
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await connection.Execute(sql));
  Findings findings;
  if (rows.size() == 0) co_return findings;
  const int needed = CountSessions(config);
  if (rows.Integer(0, 1) >= needed) co_return findings;
  findings.push_back(
      {Severity::kError, FindingId("role_connection_limit"),
       fmt::format("role {}", rows.Text(0, 0)),
       fmt::format("may have {} connections, and run needs {}; check, verify "
                   "and a standby also need some",
                   rows.Integer(0, 1), needed),
       fmt::format("ALTER ROLE {} CONNECTION LIMIT 20;",
                   QuoteName(rows.Text(0, 0)))});
  co_return findings;
}

// Another walpost makes run a standby. Any other program keeps it from the
// slot.
asio::awaitable<Found> CheckSlotUser(Connection& connection,
                                     const Config& config) {
  const std::string& slot = config.postgres.slot;
  const InstanceName name = InstanceName::OfThisProcess(slot);
  SlotHolder holder(slot, name);
  const MonotonicTime now = std::chrono::steady_clock::now();
  const absl::Status looked = co_await holder.Look(connection, now);
  if (!looked.ok()) co_return looked;
  Findings findings;
  if (holder.user().empty() || holder.is_walpost()) co_return findings;
  findings.push_back(
      {Severity::kError, FindingId("slot_in_use"), fmt::format("slot {}", slot),
       fmt::format("is in use by '{}', which is not a walpost instance",
                   holder.user()),
       "stop it, or set another postgres.slot"});
  co_return findings;
}

// What run would reject before the initial snapshot.
asio::awaitable<Found> CheckSnapshot(asio::any_io_executor executor,
                                     const Config& config) {
  Findings findings;
  if (!config.postgres.initial_snapshot) co_return findings;
  SnapshotSession session(executor, config);
  const absl::Status status = co_await session.CheckBefore();
  if (absl::IsFailedPrecondition(status)) {
    findings.push_back({Severity::kError,
                        FindingIdOf(status, FindingId("snapshot_refused")),
                        "snapshot", std::string(status.message()), ""});
  } else if (!status.ok()) {
    co_return status;
  }
  co_return findings;
}

void Append(Findings& findings, const Findings& more) {
  findings.insert(findings.end(), more.begin(), more.end());
}

Findings PauseFindings(std::string subject,
                       const std::optional<PauseRecord>& record) {
  if (!record || !record->is_paused) return {};
  return {{Severity::kWarning, FindingId("paused"), std::move(subject),
           fmt::format("is paused {}", DescribePause(*record)),
           "walpost resume -c FILE"}};
}

asio::awaitable<Found> CheckPause(Connection& connection,
                                  const Config& config) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<PauseRecord> record,
      co_await ReadPause(connection, config.postgres.publication,
                         config.postgres.slot));
  co_return PauseFindings(PauseSubject(config.postgres.slot), record);
}

asio::awaitable<Found> CheckPostgres(asio::any_io_executor executor,
                                     const Config& config,
                                     const std::vector<Route>& routes,
                                     const SinkFindings& kafka) {
  Connected connection =
      co_await Connect(executor, config.postgres.server, true);
  if (!connection.ok()) co_return connection.status();
  Preflight preflight(**connection, config.postgres, config.outbox, routes);
  Found found = co_await preflight.Run();
  if (!found.ok()) co_return found.status();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Findings limit,
      co_await CheckConnectionLimit(**connection, config));
  Append(*found, limit);
  WALPOST_CO_ASSIGN_OR_RETURN(const Findings user,
                              co_await CheckSlotUser(**connection, config));
  Append(*found, user);
  WALPOST_CO_ASSIGN_OR_RETURN(const Findings pause,
                              co_await CheckPause(**connection, config));
  Append(*found, pause);
  BirthCheck birth(**connection, config.postgres, config.outbox,
                   config.checkpoint.has_store(), !user.empty());
  Found born = co_await birth.Run();
  if (!born.ok()) co_return born.status();
  Append(*found, *born);
  Found gaps = co_await CheckContinuity(executor, config, kafka);
  if (!gaps.ok()) co_return gaps.status();
  WithdrawRemedies(config, *gaps, *found);
  Append(*found, *gaps);
  Found rows = co_await FindExistingRows(executor, config, AskStore::kYes);
  if (rows.ok()) Append(*found, *rows);
  WALPOST_CO_ASSIGN_OR_RETURN(const Findings snapshot,
                              co_await CheckSnapshot(executor, config));
  Append(*found, snapshot);
  Found parking = co_await CheckParking(**connection, config.postgres,
                                        config.parking.table, config.parks());
  if (!parking.ok()) co_return parking.status();
  Append(*found, *parking);
  PartitionMonitor partitions(config.outbox.tables);
  while (!partitions.is_through()) {
    WALPOST_CO_ASSIGN_OR_RETURN(const auto finding,
                                co_await partitions.Look(**connection));
    if (finding) found->push_back(*finding);
  }
  co_return found;
}

asio::awaitable<Found> CheckPolledTables(asio::any_io_executor executor,
                                         const Config& config,
                                         const std::vector<Route>& routes) {
  Connected connection = co_await Connect(executor, config.postgres.server);
  if (!connection.ok()) co_return connection.status();
  Findings findings;
  for (size_t i = 0; i < config.outbox.tables.size(); ++i) {
    PollingCheck check(**connection, config.polling, config.outbox.tables[i],
                       routes[i].references());
    Found found = co_await check.Run();
    if (!found.ok()) co_return found.status();
    findings.insert(findings.end(), found->begin(), found->end());
    const std::string& table = config.outbox.tables[i].name;
    WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<PauseRecord> record,
                                co_await ReadTablePause(**connection, table));
    Append(findings, PauseFindings(fmt::format("table {}", table), record));
  }
  co_return findings;
}

// Problems of the standbys among the hosts of the conninfo. An unreachable host
// is a note, because a standby may be down.
asio::awaitable<Found> CheckStandbys(asio::any_io_executor executor,
                                     const Config& config) {
  Findings findings;
  ServerOptions server = config.postgres.server;
  const absl::StatusOr<std::string> conninfo = server.conninfo.Read();
  if (!conninfo.ok()) co_return conninfo.status();
  for (const HostConninfo& host : SplitHosts(*conninfo)) {
    server.conninfo = host.conninfo;
    Connected connection = co_await Connect(executor, server);
    if (!connection.ok()) {
      findings.push_back({Severity::kNote, FindingId("standby_unavailable"),
                          host.host, std::string(connection.status().message()),
                          ""});
      continue;
    }
    if ((*connection)->server_version() < kFirstWithFailover) break;
    FailoverCheck check(**connection, config.postgres.slot);
    Found found = co_await check.OnStandby(host.host);
    if (!found.ok()) co_return found.status();
    findings.insert(findings.end(), found->begin(), found->end());
  }
  co_return findings;
}

asio::awaitable<Found> CheckPruning(asio::any_io_executor executor,
                                    const Config& config) {
  Connected connection = co_await Connect(executor, config.postgres.server);
  if (!connection.ok()) co_return connection.status();
  const SentProof proof = PrunerOptions(config).proof;
  co_return co_await CheckRetention(**connection, config.postgres,
                                    config.outbox.tables, proof);
}

asio::awaitable<absl::StatusOr<TransactionalIds>> AskTransactionalIds(
    asio::any_io_executor executor, const Config& config,
    const std::vector<Route>& routes) {
  Connected connection =
      co_await Connect(executor, config.postgres.server, true);
  if (!connection.ok()) co_return connection.status();
  WALPOST_CO_ASSIGN_OR_RETURN(const SystemIdentity identity,
                              co_await IdentifySystem(**connection));
  co_return TransactionalIdsOf(config, routes, identity.system_identifier);
}

}  // namespace

Found FindInPostgres(const Config& config, const std::vector<Route>& routes,
                     const SinkFindings& kafka) {
  asio::io_context io(1);
  if (config.source == Source::kPolling) {
    return RunToEnd(io, CheckPolledTables(io.get_executor(), config, routes));
  }
  return RunToEnd(io, CheckPostgres(io.get_executor(), config, routes, kafka));
}

Found FindInStandbys(const Config& config) {
  asio::io_context io(1);
  return RunToEnd(io, CheckStandbys(io.get_executor(), config));
}

Found FindForRetention(const Config& config) {
  asio::io_context io(1);
  return RunToEnd(io, CheckPruning(io.get_executor(), config));
}

// An error of Postgres was reported by then.
std::optional<TransactionalIds> FindTransactionalIds(
    const Config& config, const std::vector<Route>& routes) {
  if (!config.transactions.is_on) return std::nullopt;
  asio::io_context io(1);
  return RunToEnd(io, AskTransactionalIds(io.get_executor(), config, routes))
      .value_or(TransactionalIds());
}

}  // namespace walpost
