#include "postgres/stream/preflight.h"

#include <charconv>

#include "base/server_version.h"
#include "base/session_settings.h"
#include "base/status_macros.h"
#include "checkpoint/continuity.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "postgres/catalog/publication_check.h"
#include "postgres/catalog/replica_identity.h"
#include "postgres/catalog/transaction_id_column.h"
#include "postgres/connect/relation_oid.h"
#include "postgres/slot/failover_check.h"
#include "postgres/slot/slot.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Older minors of a major can lose events or hang (docs/postgres.md).
constexpr struct {
  int major;
  int minor;
} kSoundMinors[] = {{14, 19}, {15, 14}, {16, 10}, {17, 6}, {18, 0}};

int ToInt(const std::string& text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

void Preflight::Add(Severity severity, FindingId id, std::string subject,
                    std::string text, std::string remedy) {
  findings_.push_back({severity, std::move(id), std::move(subject),
                       std::move(text), std::move(remedy)});
}

asio::awaitable<absl::StatusOr<Findings>> Preflight::Run() {
  CheckVersion();
  // The slot first: later checks depend on whether it exists.
  absl::Status status = co_await CheckSlot();
  if (status.ok()) status = co_await CheckServer();
  if (!status.ok()) co_return status;
  PublicationCheck publication(connection_, options_, outbox_, routes_);
  WALPOST_CO_ASSIGN_OR_RETURN(Findings published, co_await publication.Run());
  findings_.insert(findings_.end(), published.begin(), published.end());
  WALPOST_CO_ASSIGN_OR_RETURN(Findings others,
                              co_await publication.FindOtherTables());
  findings_.insert(findings_.end(), others.begin(), others.end());
  std::string name = options_.publication;
  WALPOST_CO_ASSIGN_OR_RETURN(
      Findings rejected,
      co_await CheckPublishedChanges(connection_, std::move(name)));
  findings_.insert(findings_.end(), rejected.begin(), rejected.end());
  status = co_await CheckTransactionIds();
  if (!status.ok()) co_return status;
  const bool has_failover = connection_.server_version() >= kFirstWithFailover;
  if (options_.failover && !has_failover) {
    Add(Severity::kError, FindingId("failover_unsupported"),
        "postgres.failover", "needs PostgreSQL 17 or newer",
        "set postgres.failover: false");
  } else if (options_.failover) {
    FailoverCheck failover(connection_, options_.slot);
    WALPOST_CO_ASSIGN_OR_RETURN(Findings found,
                                co_await failover.OnPrimary(slot_));
    findings_.insert(findings_.end(), found.begin(), found.end());
  }
  co_return findings_;
}

void Preflight::CheckVersion() {
  const int version = connection_.server_version();
  const int major = version / 10000;
  const int minor = version % 10000;
  const std::string subject = fmt::format("PostgreSQL {}.{}", major, minor);
  for (const auto& sound : kSoundMinors) {
    if (major == sound.major && minor < sound.minor) {
      return Add(Severity::kWarning, FindingId("server_version_faulty"),
                 subject, "has known faults in logical decoding",
                 fmt::format("upgrade to {}.{} or newer", major, sound.minor));
    }
  }
  Add(Severity::kOk, FindingId("server_version_ok"), subject, "is supported");
}

asio::awaitable<absl::Status> Preflight::CheckServer() {
  const std::string sql = fmt::format(
      "SELECT current_setting('wal_level'), "
      "current_setting('max_slot_wal_keep_size'), "
      "current_setting('synchronous_commit'), "
      "current_setting('synchronous_standby_names'), "
      "current_setting('max_replication_slots')::int - "
      "(SELECT count(*) FROM pg_catalog.pg_replication_slots), "
      "current_setting('max_wal_senders')::int - "
      "(SELECT count(*) FROM pg_catalog.pg_stat_replication), "
      "current_user, (SELECT rolreplication OR rolsuper FROM "
      "pg_catalog.pg_roles WHERE rolname = current_user), "
      "pg_is_in_recovery(), {}, "
      "current_setting('track_commit_timestamp')::bool",
      kDecodesSql);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows settings,
                              co_await connection_.Execute(sql));
  CheckSettings(settings);
  CheckCapacity(settings);
  co_return absl::OkStatus();
}

void Preflight::CheckOrigins(bool are_kept) {
  if (are_kept) {
    return Add(Severity::kOk, FindingId("track_commit_timestamp_ok"),
               "track_commit_timestamp",
               "is on: the server keeps the origins of rows");
  }
  Add(Severity::kWarning, FindingId("track_commit_timestamp_off"),
      "track_commit_timestamp",
      "is off, so with postgres.origin: none nobody can tell which rows were "
      "replicated: verify reports them as missing, snapshot, recover and "
      "replay --from-table refuse, and prune deletes nothing",
      "ALTER SYSTEM SET track_commit_timestamp = on; and restart the server");
}

void Preflight::CheckSettings(const QueryRows& settings) {
  const std::string wal_level = settings.Text(0, 0);
  if (settings.Bool(0, 9)) {
    Add(Severity::kOk, FindingId("wal_level_ok"), "wal_level",
        fmt::format("is {}", wal_level));
  } else {
    Add(Severity::kError, FindingId("wal_level_not_logical"), "wal_level",
        fmt::format("is {}, but logical decoding needs logical", wal_level),
        std::string(kWalLevelRemedy));
  }
  if (settings.Bool(0, 8)) {
    Add(Severity::kError, FindingId("server_is_standby"), "server",
        "is a standby",
        "connect to the primary (target_session_attrs=read-write)");
  }
  if (settings.Text(0, 1) == "-1") {
    Add(Severity::kWarning, FindingId("max_slot_wal_keep_size_unlimited"),
        "max_slot_wal_keep_size",
        "is -1: while walpost or its brokers are down, WAL can fill the disk",
        "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT "
        "pg_reload_conf(); sized for the longest outage of the brokers that "
        "must not lose the slot");
  } else {
    Add(Severity::kOk, FindingId("max_slot_wal_keep_size_ok"),
        "max_slot_wal_keep_size",
        fmt::format("is {}: beyond it the slot is lost", settings.Text(0, 1)));
  }
  if (outbox_.origin == OriginFilter::kNone) CheckOrigins(settings.Bool(0, 10));
  const std::string commit = settings.Text(0, 2);
  if (commit == "off") {
    Add(Severity::kNote, FindingId("synchronous_commit_off"),
        "synchronous_commit",
        "is off: only flushed WAL is sent, so events arrive up to 200 ms or "
        "so (wal_writer_delay) after their commit",
        "SET synchronous_commit = on where latency matters");
  } else {
    Add(Severity::kOk, FindingId("synchronous_commit_ok"), "synchronous_commit",
        fmt::format("is {}", commit));
  }
  if (settings.Text(0, 3).find('*') != std::string::npos) {
    Add(Severity::kWarning, FindingId("synchronous_standby_names_any"),
        "synchronous_standby_names",
        "matches walpost too: commits would wait for Kafka",
        "name the standbys instead of '*'");
  }
}

void Preflight::CheckCapacity(const QueryRows& settings) {
  const int slots_left = ToInt(settings.Text(0, 4));
  const int senders_left = ToInt(settings.Text(0, 5));
  if (!slot_ && slots_left <= 0) {
    Add(Severity::kError, FindingId("replication_slots_exhausted"),
        "max_replication_slots", "is used up: no slot is left",
        std::string(kFreeSlotRemedy));
  } else {
    Add(Severity::kOk, FindingId("replication_slots_ok"),
        "max_replication_slots", fmt::format("{} left", slots_left));
  }
  // Includes our own connection.
  if (senders_left < 0) {
    Add(Severity::kError, FindingId("wal_senders_exhausted"), "max_wal_senders",
        "no sender is left", "raise max_wal_senders and restart the server");
  } else {
    Add(Severity::kOk, FindingId("wal_senders_ok"), "max_wal_senders",
        fmt::format("{} left", senders_left));
  }
  if (MayHoldAnyBytes(connection_.server_encoding())) {
    Add(Severity::kNote, FindingId("database_encoding_sql_ascii"),
        "encoding of the database",
        "is SQL_ASCII: a row with text that is not UTF-8 stops the flow "
        "(text_not_utf8)",
        "keep such rows out: CHECK (convert_from(convert_to(payload::text, "
        "'SQL_ASCII'), 'UTF8') IS NOT NULL)");
  }
  const std::string role = settings.Text(0, 6);
  if (settings.Bool(0, 7)) {
    Add(Severity::kOk, FindingId("role_replication_ok"),
        fmt::format("role {}", role), "may replicate");
  } else {
    // Managed services grant it through a role of their own.
    Add(Severity::kNote, FindingId("role_replication_inherited"),
        fmt::format("role {}", role),
        "has no REPLICATION attribute of its own, yet it was let in");
  }
}

asio::awaitable<absl::Status> Preflight::CheckSlot() {
  const std::string subject = fmt::format("slot {}", options_.slot);
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> found,
                              co_await FindSlot(connection_, options_.slot));
  const std::optional<SlotState>& slot = found;
  slot_ = slot;
  if (!slot) {
    if (options_.create) {
      Add(Severity::kNote, FindingId(kGapSlotMissing), subject,
          "does not exist; run will create it");
    } else {
      // No SQL: a slot that is not recorded could hide a gap.
      Add(Severity::kError, FindingId(kGapSlotMissing), subject, kDoesNotExist,
          "walpost init -c FILE --admin CONNINFO, or set postgres.create: "
          "true");
    }
  } else if (slot->two_phase) {
    Add(Severity::kError, FindingId("slot_two_phase"), subject,
        "was made with two_phase: it sends transactions when they are "
        "prepared, which may still be rolled back",
        fmt::format("make it again without, where it stands: {}",
                    DropTwoPhaseSql(options_.slot)));
  } else if (slot->wal_status == "lost") {
    Add(Severity::kError, FindingId(kGapSlotLost), subject,
        fmt::format("is lost: {}. Events committed after {} may not "
                    "have been published",
                    DescribeInvalidation(slot->invalidation_reason),
                    slot->confirmed_flush_lsn.ToString()),
        kRecoverSlot);
  } else if (slot->wal_status == "unreserved") {
    Add(Severity::kWarning, FindingId("slot_unreserved"), subject,
        "is about to be lost: it is over max_slot_wal_keep_size",
        "let walpost catch up now, or raise max_slot_wal_keep_size");
  } else {
    Add(Severity::kOk, FindingId("slot_ok"), subject,
        fmt::format("stands at {}{}", slot->confirmed_flush_lsn.ToString(),
                    slot->active ? " and is in use" : ""));
  }
  co_return absl::OkStatus();
}

// The stream does not need the column, so this is not an error.
asio::awaitable<absl::Status> Preflight::CheckTransactionIds() {
  std::string columns;
  for (const TableOptions& table : outbox_.tables) {
    columns += columns.empty() ? "" : ", ";
    columns += connection_.Literal(table.state.transaction_id);
  }
  if (!HasTransactionIds(outbox_)) co_return absl::OkStatus();
  const std::string sql = fmt::format(
      "WITH {}, columns AS (SELECT name, ordinality - 1 AS number FROM "
      "pg_catalog.unnest(ARRAY[{}]::text[]) WITH ORDINALITY AS c (name)) "
      "SELECT columns.number FROM columns JOIN tables USING (number) WHERE "
      "columns.name <> '' AND NOT EXISTS (SELECT FROM "
      "pg_catalog.pg_attribute WHERE attrelid = tables.relation AND attname = "
      "columns.name AND atttypid = {} AND NOT attisdropped) ORDER BY 1",
      TablesSql(connection_, outbox_.tables), columns, kXid8Oid);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Execute(sql));
  for (size_t i = 0; i < rows.size(); ++i) {
    const TableOptions& table = outbox_.tables[rows.Unsigned(i, 0)];
    Add(Severity::kWarning, FindingId("transaction_id_column_missing"),
        fmt::format("table {}", table.name),
        fmt::format("has no column {} of type xid8, which walpost recover -c "
                    "FILE needs",
                    table.state.transaction_id),
        AddTransactionIdSql(table) +
            " or correct outbox.tables.state.transaction_id");
  }
  co_return absl::OkStatus();
}

}  // namespace walpost
