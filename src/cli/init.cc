// walpost init: creates the database objects for replication, once.
#include <memory>

#include "app/live/existing_rows_warning.h"
#include "base/read_refusal.h"
#include "base/server_version.h"
#include "base/status_macros.h"
#include "cli/init/init_arguments.h"
#include "cli/init/init_sql.h"
#include "cli/init/outbox_tables.h"
#include "cli/init/role_rights.h"
#include "cli/init/stale_state.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "delivery/gap.h"
#include "loop/run_to_end.h"
#include "outbox/table_pattern.h"
#include "polling/lease_table.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/publication_check.h"
#include "postgres/checkpoint/checkpoint_sql.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/connect/sqlstate.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/slot.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStatementLimit{60};

// Creates missing objects, in the required order.
class Initializer {
 public:
  Initializer(const Config& config, const std::vector<Route>& routes,
              SlotFailover failover, const InitArguments& arguments)
      : config_(config),
        routes_(routes),
        failover_(failover),
        arguments_(arguments) {}

  asio::awaitable<absl::Status> Run(asio::any_io_executor executor) {
    ConnectionOptions options;
    options.server = config_.postgres.server;
    options.application_name = "walpost:init";
    auto connected = co_await Connection::Connect(executor, options);
    if (!connected.ok() && BecomePostgres(connected.status(), config_)) {
      Print(
          "connecting as the user postgres, because Postgres has no role for "
          "root\n");
      connected = co_await Connection::Connect(executor, options);
    }
    if (!connected.ok()) co_return connected.status();
    connection_ = *std::move(connected);
    RoleRights rights(*connection_, config_, arguments_.role);
    absl::Status status = co_await rights.Require();
    if (status.ok() && config_.source == Source::kWal) {
      status = co_await CheckServer();
    }
    if (status.ok()) {
      OutboxTables tables(*connection_, config_, routes_);
      status = co_await tables.Make();
    }
    if (status.ok() && WantsEmitFunction(config_)) {
      status = co_await MakeEmitFunction();
    }
    const bool is_polled = config_.source == Source::kPolling;
    if (status.ok() && is_polled) status = co_await MakeLeaseTable();
    if (status.ok() && is_polled) status = co_await rights.Give();
    if (is_polled) co_return status;
    if (status.ok()) status = co_await CheckTables(WithPublication::kNo);
    if (status.ok()) status = co_await MakePublication();
    if (status.ok()) status = co_await rights.OwnPublication();
    if (status.ok()) status = co_await CheckTables(WithPublication::kYes);
    if (status.ok()) status = co_await MakeSlot();
    if (status.ok()) status = co_await AnnounceNewTables(*connection_, config_);
    if (status.ok()) status = co_await rights.MakeTables(slot_use_);
    if (status.ok()) status = co_await rights.Give();
    if (status.ok()) status = co_await ReportExistingRows(executor);
    if (!status.ok() || !has_made_slot_) co_return status;
    if (arguments_.fresh) {
      for (const Finding& finding :
           co_await FindStaleState(executor, *connection_, config_)) {
        Report(finding);
      }
    }
    // Rows that are there may have been sent by the walpost of another server.
    if (arguments_.fresh || has_existing_rows_) Print("{}\n", kForgetPositions);
    co_return status;
  }

  std::string_view role() const {
    return connection_ ? PQuser(connection_->raw()) : "";
  }

 private:
  static void Report(std::string_view what, std::string_view name,
                     std::string_view done) {
    Print("{} {}: {}\n", what, name, done);
  }

  asio::awaitable<absl::Status> Execute(std::string sql) {
    connection_->set_deadline(Clock::now() + kStatementLimit);
    absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
    co_return rows.status();
  }

  asio::awaitable<absl::StatusOr<bool>> Exists(std::string query) {
    WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                                co_await connection_->Execute(query));
    co_return rows.size() > 0 && rows.Bool(0, 0);
  }

  // Checks causes that would make the slot fail, before anything is created.
  asio::awaitable<absl::Status> CheckServer() {
    const std::string query = fmt::format("SELECT {}", kDecodesSql);
    WALPOST_CO_ASSIGN_OR_RETURN(bool decodes, co_await Exists(query));
    if (!decodes) {
      co_return absl::FailedPreconditionError(
          fmt::format("wal_level is not logical, which a logical replication "
                      "slot needs: {}",
                      kWalLevelRemedy));
    }
    const auto slot = co_await FindSlot(*connection_, config_.postgres.slot);
    co_return slot.status();
  }

  enum class WithPublication { kNo, kYes };

  // Checks what `run` would reject: a slot that nobody reads keeps WAL.
  asio::awaitable<absl::Status> CheckTables(WithPublication publication) {
    PublicationCheck check(*connection_, config_.postgres, config_.outbox,
                           routes_);
    absl::StatusOr<Findings> findings;
    if (publication == WithPublication::kYes) {
      findings = co_await check.Run();
    } else {
      findings = co_await check.RunOnTables();
    }
    if (!findings.ok()) co_return findings.status();
    const Finding* error = FirstError(*findings);
    if (error == nullptr) co_return absl::OkStatus();
    co_return absl::FailedPreconditionError(
        fmt::format("{} {}{}{}", error->subject, error->text,
                    error->remedy.empty() ? "" : "; ", error->remedy));
  }

  asio::awaitable<absl::Status> MakeEmitFunction() {
    const std::string sql = EmitFunctionSql();
    absl::Status status = co_await Execute(sql);
    if (status.ok()) Report("function", "public.outbox_emit", "created");
    co_return status;
  }

  asio::awaitable<absl::Status> MakeLeaseTable() {
    const std::string& table = config_.polling.lease_table;
    if (!config_.polling.has_lease_table()) co_return absl::OkStatus();
    const std::string query = fmt::format("SELECT {} IS NOT NULL",
                                          RelationOidSql(*connection_, table));
    WALPOST_CO_ASSIGN_OR_RETURN(const bool exists, co_await Exists(query));
    const std::string sql = LeaseTableScript(table);
    absl::Status status;
    if (!exists) status = co_await Execute(sql);
    if (status.ok()) Report("table", table, exists ? "exists" : "created");
    co_return status;
  }

  asio::awaitable<absl::Status> MakePublication() {
    const std::string& name = config_.postgres.publication;
    absl::StatusOr<bool> exists =
        co_await PublicationExists(*connection_, name);
    if (!exists.ok()) co_return exists.status();
    absl::Status status;
    if (*exists) {
      for (const TableOptions& table : config_.outbox.tables) {
        if (status.ok()) status = co_await AddToPublication(table.name);
      }
    } else {
      status =
          co_await CreatePublication(*connection_, name, config_.outbox.tables);
    }
    if (status.ok()) {
      Report("publication", name, *exists ? "exists" : "created");
    }
    co_return status;
  }

  asio::awaitable<absl::Status> AddToPublication(std::string table) {
    const std::string& name = config_.postgres.publication;
    const std::string query = fmt::format(
        "SELECT puballtables OR EXISTS (SELECT 1 FROM pg_publication_rel r "
        "WHERE r.prpubid = p.oid AND r.prrelid = {}::regclass) "
        "FROM pg_publication p WHERE pubname = {}",
        connection_->Literal(QuoteQualifiedName(table)),
        connection_->Literal(name));
    absl::StatusOr<bool> published = co_await Exists(query);
    if (!published.ok() || *published) co_return published.status();
    const std::string add =
        fmt::format("ALTER PUBLICATION {} ADD TABLE {}", QuoteName(name),
                    QuoteQualifiedName(table));
    absl::Status status = co_await Execute(add);
    if (status.ok()) Report("publication", name, "added " + table);
    co_return status;
  }

  asio::awaitable<absl::Status> MakeSlot() {
    const std::string& name = config_.postgres.slot;
    if (failover_ == SlotFailover::kYes &&
        connection_->server_version() < kFirstWithFailover) {
      co_return absl::FailedPreconditionError(fmt::format(
          "failover slots need PostgreSQL 17 or newer; this is {}: leave out "
          "--failover and set postgres.failover: false",
          connection_->server_version() / 10000));
    }
    WALPOST_CO_ASSIGN_OR_RETURN(auto found,
                                co_await FindSlot(*connection_, name));
    if (found && found->wal_status == "lost") {
      WALPOST_CO_RETURN_IF_ERROR(co_await DropLostSlot());
      found.reset();
    }
    const bool exists = found.has_value();
    auto birth = co_await ReadBirthRecord(*connection_,
                                          config_.postgres.publication, name);
    if (!birth.ok()) co_return birth.status();
    if (!*birth || (*birth)->parked_table.name.empty()) {
      slot_use_ = RoleRights::SlotUse::kNone;
    }
    if (!exists && *birth && !arguments_.fresh) co_return Gap(**birth);
    if (!exists) {
      const std::string sql = CreateSlotSql(name, failover_);
      absl::Status made = co_await Execute(sql);
      if (!made.ok()) {
        co_return co_await ExplainSlotCreation(*connection_, made);
      };
      has_made_slot_ = true;
    }
    const bool is_known = exists && birth->has_value();
    Report("slot", name,
           !exists    ? "created"
           : is_known ? "exists"
                      : "exists, made by somebody else; its birth is on record "
                        "now");
    // A record of an older release is not a proof for retention.
    if (is_known && (*birth)->streamed_from > 0) co_return absl::OkStatus();
    if (is_known && !(*birth)->gap.empty()) co_return absl::OkStatus();
    std::optional<BirthRecord> before;
    if (is_known) before = *birth;
    co_return co_await RecordBirth(before);
  }

  // It sends nothing any more; `recover` handles what it did not send.
  asio::awaitable<absl::Status> DropLostSlot() {
    const std::string& name = config_.postgres.slot;
    if (!arguments_.fresh) {
      co_return absl::FailedPreconditionError(
          fmt::format("slot {} is lost: the server removed WAL that it needed; "
                      "{}",
                      name, kRecoverSlot));
    }
    const absl::Status dropped = co_await DropSlot(*connection_, name);
    if (dropped.ok()) Report("slot", name, "was lost: dropped");
    co_return dropped;
  }

  // A slot that existed before is not created again silently (P9).
  absl::Status Gap(const BirthRecord& birth) const {
    return absl::FailedPreconditionError(fmt::format(
        "slot {0} was made at {1} on system {2}, and is missing: "
        "events that were committed since walpost last ran may not "
        "have been published. walpost recover -c FILE publishes them; "
        "walpost init -c FILE --fresh starts again without them. "
        "If the database was moved: {3}",
        birth.slot, birth.consistent_point.ToString(), birth.system_identifier,
        kForgetPositions));
  }

  // `before`: of an older release; else the slot begins at its position.
  asio::awaitable<absl::Status> RecordBirth(std::optional<BirthRecord> before) {
    const std::string& name = config_.postgres.slot;
    auto slot = co_await FindSlot(*connection_, name);
    if (!slot.ok()) co_return slot.status();
    const Lsn begins =
        before ? before->consistent_point : (*slot)->confirmed_flush_lsn;
    WALPOST_CO_ASSIGN_OR_RETURN(
        BirthRecord record,
        co_await DescribeBirth(*connection_, config_.postgres.publication,
                               config_.outbox.tables, name, begins));
    // What was passed over or left out stays so.
    if (before) {
      record.coverage =
          MergeCoverage(record.coverage, CoverageOf(*before, Announced::kYes));
    }
    const std::string consequence = fmt::format(
        "slot {} exists, but nothing would notice if it were dropped", name);
    co_return co_await RequireBirthRecord(
        *connection_, config_.postgres.publication, record, consequence);
  }

  // Shows the user of `init` the rows that the slot will not send.
  asio::awaitable<absl::Status> ReportExistingRows(
      asio::any_io_executor executor) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        const Findings findings,
        co_await FindExistingRows(executor, config_, AskStore::kNo));
    for (const Finding& finding : findings) {
      if (finding.severity == Severity::kOk) continue;
      has_existing_rows_ = true;
      Report(finding);
    }
    co_return absl::OkStatus();
  }

  static void Report(const Finding& finding) {
    Print("{} {}\n", finding.subject, finding.text);
    if (!finding.remedy.empty()) Print("  -> {}\n", finding.remedy);
  }

  const Config& config_;
  const std::vector<Route>& routes_;
  SlotFailover failover_;
  const InitArguments& arguments_;
  bool has_made_slot_ = false;
  bool has_existing_rows_ = false;
  RoleRights::SlotUse slot_use_ = RoleRights::SlotUse::kMaybe;
  std::unique_ptr<Connection> connection_;
};

int Init(InitArguments arguments) {
  absl::StatusOr<Config> config = arguments.config.Load(Secrets::kIfReadable);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const SlotFailover kind = arguments.failover || config->postgres.failover
                                ? SlotFailover::kYes
                                : SlotFailover::kNo;
  if (arguments.failover) {
    const absl::Status wal = RequireWalSource(
        *config, "--failover", "leave it out, polling has no slot");
    if (!wal.ok()) return Fail(wal, kExitUsage);
  }
  const absl::Status chosen = arguments.ChooseRoles(*config);
  if (!chosen.ok()) return Fail(chosen, kExitUsage);
  if (arguments.print) {
    asio::io_context io(1);
    ExistingObjects existing;
    if (RequirePostgres(*config).ok()) {
      const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
      if (absl::IsFailedPrecondition(expanded)) {
        return Fail(expanded, kExitPostgres);
      }
      existing = RunToEnd(io, FindExistingObjects(io.get_executor(), *config));
    }
    const absl::StatusOr<std::string> sql = InitSql(*config, kind, existing);
    if (!sql.ok()) return Fail(sql.status(), kExitPostgres);
    Print("{}", *sql);
    if (!arguments.role.empty()) {
      Print("\n{}", RoleRights::Script(*config, arguments.role));
    }
    return kExitOk;
  }
  const absl::Status complete = RequirePostgres(*config);
  if (!complete.ok()) return Fail(complete, kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  for (const std::string& pattern : UnmatchedPatterns(config->outbox)) {
    Print("tables {}: none matches, and init makes none by a pattern\n",
          pattern);
  }
  const auto routes = Route::CreateAll(config->outbox);
  if (!routes.ok()) return Fail(routes.status(), kExitUsage);
  asio::io_context io(1);
  Initializer initializer(*config, *routes, kind, arguments);
  const absl::Status status = RunToEnd(io, initializer.Run(io.get_executor()));
  if (status.ok()) return kExitOk;
  return Fail(WithAdministrator(status, initializer.role()), kExitPostgres);
}

}  // namespace

void AddInit(CLI::App& app, int& exit_code) {
  Verb verb(app, "init",
            "Create table, publication and slot if they are missing");
  auto arguments = std::make_shared<InitArguments>();
  arguments->AddTo(verb);
  verb.Footer("Exit codes: 0 done, 2 usage, 3 Postgres.");
  verb.Callback([=, &exit_code] { exit_code = Init(*arguments); });
}

}  // namespace walpost
