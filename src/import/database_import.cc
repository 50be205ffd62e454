// The database, the slot, the publication and the snapshot.
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "import/import_context.h"

namespace walpost {
namespace {

constexpr std::pair<std::string_view, std::string_view> kConninfoWords[] = {
    {"database.hostname", "host"},
    {"database.port", "port"},
    {"database.dbname", "dbname"},
    {"database.user", "user"},
    {"database.password", "password"},
    {"database.sslmode", "sslmode"},
    {"database.sslrootcert", "sslrootcert"},
    {"database.sslcert", "sslcert"},
    {"database.sslkey", "sslkey"},
    {"database.sslpassword", "sslpassword"},
};

// A value of a conninfo; walpost quotes references itself.
std::string QuotedWord(std::string_view value) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:,${}";
  if (!value.empty() &&
      value.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(value);
  }
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

void ImportConninfo(ImportContext& context) {
  std::string& conninfo = context.config.conninfo;
  const auto add = [&](std::string_view word, std::string_view value) {
    if (!conninfo.empty()) conninfo += ' ';
    conninfo += fmt::format("{}={}", word, QuotedWord(value));
  };
  for (const auto& [name, word] : kConninfoWords) {
    const Setting* setting = context.settings.Take(name);
    if (setting == nullptr) {
      if (name == "database.hostname" || name == "database.dbname" ||
          name == "database.user") {
        context.report.Refuse(std::string(name),
                              "it is missing, and Debezium requires it");
      }
      continue;
    }
    if (word == "sslkey") {
      const std::string lower = absl::AsciiStrToLower(setting->value);
      if (!lower.ends_with(".pem") && !lower.ends_with(".key")) {
        context.report.Remark(
            setting->key,
            "the driver of Java reads DER, and libpq PEM: convert it with "
            "openssl pkcs8 -inform DER -nocrypt -in FILE -out client.pem, and "
            "name that file in sslkey");
      }
    }
    const bool is_secret = word == "password" || word == "sslpassword";
    add(word, is_secret
                  ? context.references.TranslateSecret(
                        *setting, word == "password" ? "POSTGRES_PASSWORD"
                                                     : "POSTGRES_KEY_PASSWORD")
                  : context.references.Translate(*setting));
  }
  if (const auto keep_alive = context.Flag("database.tcpKeepAlive")) {
    if (!*keep_alive) add("keepalives", "0");
  }
}

std::string TextOr(ImportContext& context, std::string_view name,
                   std::string_view usual) {
  const Setting* setting = context.settings.Take(name);
  return setting == nullptr ? std::string(usual)
                            : context.references.Translate(*setting);
}

void ImportSnapshotMode(ImportContext& context) {
  const Setting* setting = context.settings.Find("snapshot.mode");
  const auto mode = context.Plain("snapshot.mode");
  if (setting != nullptr && !mode) return;
  const std::string name = absl::AsciiStrToLower(mode.value_or("initial"));
  const std::string key = "snapshot.mode";
  if (name == "initial" || name == "when_needed") {
    context.report.Remark(
        key,
        "walpost takes over the slot, and does not send rows again that were "
        "there before it: hence snapshot: never. For a new slot in its place "
        "set snapshot: initial" +
            std::string(name == "initial"
                            ? ""
                            : "; after a gap use walpost recover -c FILE"));
  } else if (name == "no_data" || name == "never" || name == "schema_only" ||
             name == "when_needed_no_data") {
    context.report.NotNeeded(key, "it is snapshot: never");
  } else if (name == "always") {
    context.report.Open(key,
                        "walpost does not send all rows again at each start: "
                        "use walpost replay -c FILE --from-table");
  } else {
    context.report.Refuse(
        key, fmt::format("walpost has no snapshot '{}': write no_data for the "
                         "stream alone, or initial",
                         name));
  }
}

void ImportSkippedOperations(ImportContext& context) {
  const auto skipped = context.Plain("skipped.operations");
  if (!skipped) return;
  const std::string& key = context.settings.Find("skipped.operations")->key;
  if (skipped->find('c') != std::string::npos) {
    context.report.Refuse(key,
                          "with c, Debezium skips the INSERTs of the outbox: "
                          "nothing would be sent");
    return;
  }
  if (absl::AsciiStrToLower(*skipped) == "none") {
    context.report.Remark(key,
                          "Debezium fails at a TRUNCATE of the outbox then; "
                          "walpost ignores it");
  } else {
    context.report.NotNeeded(key, "only INSERTs are sent");
  }
}

}  // namespace

void ImportDatabase(ImportContext& context) {
  ImportConninfo(context);
  ImportedConfig& config = context.config;
  config.slot = TextOr(context, "slot.name", "debezium");
  config.publication = TextOr(context, "publication.name", "dbz_publication");
  config.has_failover = context.Flag("slot.failover").value_or(false);
  if (config.has_failover) {
    context.report.Remark(
        context.settings.Find("slot.failover")->key,
        "it needs PostgreSQL 17. Debezium ignores it with an older one: remove "
        "postgres.failover there");
  }
  const auto plugin = context.Plain("plugin.name");
  if (plugin && *plugin != "pgoutput") {
    context.report.Refuse(
        context.settings.Find("plugin.name")->key,
        fmt::format("walpost reads pgoutput alone, and slot {} is of {}: make "
                    "another slot with walpost init -c FILE while nothing is "
                    "written, and set plugin.name to pgoutput for the import",
                    config.slot, *plugin));
  } else if (!plugin && context.settings.Find("plugin.name") == nullptr) {
    context.report.Refuse(
        "plugin.name",
        "it is missing, and Debezium's default is decoderbufs, whose slot "
        "walpost cannot read: set it to pgoutput, if the slot is of pgoutput");
  }
  ImportSnapshotMode(context);
  ImportSkippedOperations(context);
  if (const auto interval = context.Plain("heartbeat.interval.ms")) {
    const std::string& key =
        context.settings.Find("heartbeat.interval.ms")->key;
    if (*interval == "0") {
      context.report.NotNeeded(key, "it is off");
    } else {
      context.report.Remark(
          key,
          "walpost confirms the WAL of an idle outbox without heartbeats; the "
          "heartbeat topic gets no records any more");
    }
  }
  if (const auto support = context.Plain("exactly.once.support")) {
    const std::string& key = context.settings.Find("exactly.once.support")->key;
    if (context.is_server) {
      context.report.NotNeeded(key, "Debezium Server has no transactions");
    } else if (absl::AsciiStrToLower(*support) == "required") {
      config.is_exactly_once = true;
      context.report.Remark(key,
                            "consumers must read with isolation.level="
                            "read_committed, as before (docs/exactly-once.md)");
    } else {
      context.report.NotNeeded(key,
                               "the worker decides then; for transactions "
                               "set delivery.guarantee: exactly_once");
    }
  }
}

}  // namespace walpost
