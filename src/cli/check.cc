// walpost check: checks both ends, prints the findings and their remedies.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "app/existing_rows_warning.h"
#include "app/retention_keeper.h"
#include "app/transactional_ids.h"
#include "base/finding.h"
#include "base/server_version.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run_to_end.h"
#include "cli/slot_inspection.h"
#include "cli/verb.h"
#include "cli/verbs.h"
#include "fmt/format.h"
#include "kafka/cluster_check.h"
#include "outbox/dead_letter_topic.h"
#include "polling/polling_check.h"
#include "postgres/birth_check.h"
#include "postgres/failover_check.h"
#include "postgres/parking_check.h"
#include "postgres/partition_watch.h"
#include "postgres/preflight.h"
#include "postgres/system_identity.h"
#include "retention/retention_check.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kKafkaTimeout{5};

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
                                       const Config& config) {
  const std::string cluster;  // checked separately
  WALPOST_CO_ASSIGN_OR_RETURN(
      SlotInspection inspection,
      co_await InspectSlot(executor, config, cluster, InspectPending::kNo));
  const GapDiagnosis& diagnosis = inspection.diagnosis;
  Findings findings;
  const absl::Status& stored = inspection.checkpoint.status();
  if (!stored.ok()) {
    findings.push_back(
        {Severity::kError, "checkpoint", std::string(stored.message()), ""});
  }
  if (diagnosis.kind == GapDiagnosis::Kind::kGap) {
    findings.push_back({Severity::kError,
                        fmt::format("gap [{}]", diagnosis.gap), diagnosis.text,
                        ""});
  }
  if (!diagnosis.doubt.empty()) {
    findings.push_back({Severity::kNote,
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

asio::awaitable<Found> CheckPostgres(asio::any_io_executor executor,
                                     const Config& config,
                                     const std::vector<Route>& routes) {
  Connected connection =
      co_await Connect(executor, config.postgres.server, true);
  if (!connection.ok()) co_return connection.status();
  Preflight preflight(**connection, config.postgres, config.outbox, routes);
  Found found = co_await preflight.Run();
  if (!found.ok()) co_return found.status();
  BirthCheck birth(**connection, config.postgres, config.outbox.tables);
  Found born = co_await birth.Run();
  if (!born.ok()) co_return born.status();
  found->insert(found->end(), born->begin(), born->end());
  Found gaps = co_await CheckContinuity(executor, config);
  if (!gaps.ok()) co_return gaps.status();
  WithdrawRemedies(config, *gaps, *found);
  found->insert(found->end(), gaps->begin(), gaps->end());
  Found rows = co_await FindExistingRows(executor, config, AskStore::kYes);
  if (rows.ok()) found->insert(found->end(), rows->begin(), rows->end());
  if (config.parks()) {
    const auto letters = config.keeps_letters()
                             ? ParkingTable::Letters::kKept
                             : ParkingTable::Letters::kForKafka;
    Found parking =
        co_await CheckParkingTable(**connection, config.parking.table, letters);
    if (!parking.ok()) co_return parking.status();
    found->insert(found->end(), parking->begin(), parking->end());
  }
  PartitionWatch partitions(config.outbox.tables);
  while (!partitions.is_through()) {
    WALPOST_CO_ASSIGN_OR_RETURN(const auto finding,
                                co_await partitions.Look(**connection));
    if (finding) found->push_back(*finding);
  }
  co_return found;
}

// Which changes of the slot by others are noticed.
Findings CheckStore(const CheckpointOptions& options) {
  Finding finding{Severity::kOk, "checkpoint.store",
                  "is set: a slot that somebody else advanced or made again is "
                  "noticed",
                  ""};
  if (options.store == CheckpointOptions::Store::kNone) {
    finding.severity = Severity::kNote;
    finding.text =
        "is none: a missing slot is noticed, but not one that somebody else "
        "advanced or made again";
    finding.remedy = "checkpoint.store: file, postgres or kafka notices it";
  }
  return {finding};
}

asio::awaitable<Found> CheckPolledTables(asio::any_io_executor executor,
                                         const Config& config) {
  Connected connection = co_await Connect(executor, config.postgres.server);
  if (!connection.ok()) co_return connection.status();
  Findings findings;
  for (const TableOptions& table : config.outbox.tables) {
    PollingCheck check(**connection, config.polling, table);
    Found found = co_await check.Run();
    if (!found.ok()) co_return found.status();
    findings.insert(findings.end(), found->begin(), found->end());
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
      findings.push_back({Severity::kNote, host.host,
                          std::string(connection.status().message()), ""});
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

Found RunCheckStandbys(const Config& config) {
  asio::io_context io(1);
  return RunToEnd(io, CheckStandbys(io.get_executor(), config));
}

Found RunCheckPostgres(const Config& config, const std::vector<Route>& routes) {
  asio::io_context io(1);
  if (config.source == Source::kPolling) {
    return RunToEnd(io, CheckPolledTables(io.get_executor(), config));
  }
  return RunToEnd(io, CheckPostgres(io.get_executor(), config, routes));
}

asio::awaitable<Found> CheckPruning(asio::any_io_executor executor,
                                    const Config& config) {
  Connected connection = co_await Connect(executor, config.postgres.server);
  if (!connection.ok()) co_return connection.status();
  const SentProof proof = PrunerOptions(config).proof;
  co_return co_await CheckRetention(**connection, config.postgres,
                                    config.outbox.tables, proof);
}

Found RunCheckRetention(const Config& config) {
  asio::io_context io(1);
  return RunToEnd(io, CheckPruning(io.get_executor(), config));
}

std::vector<TopicNames> TopicsOf(const Config& config,
                                 const std::vector<Route>& routes) {
  std::map<std::string, TopicNames> names;
  for (size_t i = 0; i < routes.size(); ++i) {
    const bool is_messages = i == config.outbox.tables.size();
    if (is_messages && !config.outbox.messages.enabled()) continue;
    const TopicTemplate& topic = routes[i].topic();
    TopicNames& its = names[topic.prefix()];
    its.text = topic.prefix();
    its.is_whole = topic.references().empty();
    if (const TopicCreation* creation = routes[i].creation()) {
      its.creation = *creation;
    }
    if (is_messages) continue;
    its.claim_check_above = std::max(its.claim_check_above,
                                     config.outbox.tables[i].claim_check_above);
  }
  std::vector<TopicNames> topics;
  for (const auto& [text, its] : names) topics.push_back(its);
  const auto dead_letters =
      ParseDeadLetterTopic(config.outbox.dead_letter.topic);
  if (config.on_error.Uses(ErrorAction::kDeadLetter) && dead_letters.ok() &&
      !config.keeps_letters()) {
    topics.push_back(
        {dead_letters->prefix(), dead_letters->references().empty(),
         /*are_dead_letters=*/true, config.outbox.dead_letter.create_topics});
  }
  return topics;
}

// Topic of checkpoint.store: kafka, else empty.
std::string CheckpointTopic(const CheckpointOptions& options) {
  return options.store == CheckpointOptions::Store::kKafka ? options.topic : "";
}

asio::awaitable<absl::StatusOr<TransactionalIds>> FindTransactionalIds(
    asio::any_io_executor executor, const Config& config,
    const std::vector<Route>& routes) {
  Connected connection =
      co_await Connect(executor, config.postgres.server, true);
  if (!connection.ok()) co_return connection.status();
  WALPOST_CO_ASSIGN_OR_RETURN(const SystemIdentity identity,
                              co_await IdentifySystem(**connection));
  co_return TransactionalIdsOf(config, routes, identity.system_identifier);
}

// For CheckCluster. An error of Postgres was reported by then.
std::optional<TransactionalIds> TransactionalIdsFor(
    const Config& config, const std::vector<Route>& routes) {
  if (!config.transactions.is_on) return std::nullopt;
  asio::io_context io(1);
  return RunToEnd(io, FindTransactionalIds(io.get_executor(), config, routes))
      .value_or(TransactionalIds());
}

std::string_view Mark(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok     ";
    case Severity::kNote:
      return "note   ";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "ERROR  ";
  }
  return "";
}

// Prints one end's findings; true if one of them is an error.
bool Report(const Found& findings, std::string_view end) {
  if (!findings.ok()) {
    Print("{} {}: {}\n", Mark(Severity::kError), end,
          std::string(findings.status().message()));
    return true;
  }
  for (const Finding& finding : *findings) {
    Print("{} {} {}\n", Mark(finding.severity), finding.subject, finding.text);
    if (!finding.remedy.empty()) {
      Print("        -> {}\n", finding.remedy);
    }
  }
  return FirstError(*findings) != nullptr;
}

int Check(const ConfigArguments& arguments) {
  const absl::StatusOr<Config> config = arguments.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status complete = RequireBothEnds(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  const auto routes = Route::CreateAll(config->outbox);
  if (!routes.ok()) return Fail(routes.status(), kExitUsage);

  bool failed = Report(RunCheckPostgres(*config, *routes), "Postgres");
  if (config->source == Source::kWal) {
    failed |= Report(CheckStore(config->checkpoint), "checkpoint");
  }
  if (config->postgres.failover) {
    failed |= Report(RunCheckStandbys(*config), "standbys");
  }
  if (config->retention.enabled()) {
    failed |= Report(RunCheckRetention(*config), "retention");
  }
  failed |=
      Report(CheckCluster(config->kafka, TopicsOf(*config, *routes),
                          CheckpointTopic(config->checkpoint),
                          TransactionalIdsFor(*config, *routes), kKafkaTimeout),
             "Kafka");
  return failed ? kExitFindings : kExitOk;
}

}  // namespace

void AddCheck(CLI::App& app, int& exit_code) {
  Verb verb(app, "check", "Test both ends and print what to fix, and how");
  auto arguments = std::make_shared<ConfigArguments>();
  arguments->AddTo(verb);
  verb.Footer(
      "Exit codes: 0 no error found, 1 something must be fixed, 2 usage.");
  verb.Callback([arguments, &exit_code] { exit_code = Check(*arguments); });
}

}  // namespace walpost
