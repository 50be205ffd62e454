#include "config/loader.h"

#include <algorithm>

#include "base/fitted_name.h"
#include "base/status_macros.h"
#include "config/conninfo.h"
#include "config/delivery_section.h"
#include "config/only_copies.h"
#include "config/outbox_section.h"
#include "config/overrides.h"
#include "config/polling_section.h"
#include "config/records_section.h"
#include "config/section.h"
#include "config/sink_section.h"
#include "config/yaml_document.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr size_t kMinReplayWindow = size_t{64} << 10;
constexpr size_t kMaxWalBytes = size_t{1} << 50;

std::string ExplainKeyword(const std::string& key) {
  const std::vector<std::string> keywords = ConninfoKeywords();
  if (std::ranges::find(keywords, key) == keywords.end()) return "";
  return fmt::format(
      "is a setting of libpq: write it in postgres.conninfo, as in conninfo: "
      "{}=...",
      key);
}

void ReadPostgres(Section section, WalSourceOptions& options,
                  OriginFilter& origin) {
  section.ReadConninfo("conninfo", options.server.conninfo);
  section.ReadCommand("password_command", options.server.password_command);
  section.Read("slot", options.slot);
  section.Read("publication", options.publication);
  section.Read("create", options.create);
  section.Read("failover", options.failover);
  section.Read("wal_sender_timeout", options.wal_sender_timeout, seconds(1),
               minutes(60));
  section.Read("status_interval", options.status_interval, milliseconds(1),
               minutes(60));
  bool has_default_budget = options.wal_budget_bytes == 0;
  section.ReadSizeOrAuto("wal_budget", options.wal_budget_bytes,
                         has_default_budget, 0, kMaxWalBytes);
  if (has_default_budget) options.wal_budget_bytes = 0;
  section.ReadChoice<OriginFilter>(
      "origin", origin,
      {{"any", OriginFilter::kAny}, {"none", OriginFilter::kNone}});
  section.Done("", ExplainKeyword);
  const absl::Status conninfo =
      CheckConninfo(options.server.conninfo.Read().value_or(""));
  if (!conninfo.ok()) {
    section.Fail("conninfo", std::string(conninfo.message()));
  }
  const std::vector<std::string>& command = options.server.password_command;
  if (!command.empty() && command.front().empty()) {
    section.Fail("password_command", "its first word, the program, is empty");
  }
  const bool legal =
      !options.slot.empty() && options.slot.size() <= kMaxNameBytes &&
      std::ranges::all_of(options.slot, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  if (!legal) {
    section.Fail("slot", fmt::format("'{}' is not a slot name (1 to 63 of "
                                     "a-z, 0-9 and _)",
                                     options.slot));
  }
  if (options.publication.empty()) section.Fail("publication", "it is empty");
  if (options.publication.size() > kMaxNameBytes) {
    section.Fail("publication",
                 fmt::format("the name has {} bytes, and Postgres keeps {} of "
                             "a name",
                             options.publication.size(), kMaxNameBytes));
  }
}

void ReadValue(Section section, ValueFormat& format) {
  section.ReadChoice<ValueFormat>(
      "format", format,
      {{"raw", ValueFormat::kRaw}, {"protobuf", ValueFormat::kProtobuf}});
  section.Done();
}

void ReadOnError(Section section, ErrorActions& actions) {
  std::vector<std::pair<std::string_view, ErrorAction>> names;
  for (const ErrorActionInfo& info : kErrorActions) {
    names.emplace_back(info.name, info.action);
  }
  for (size_t i = 0; i < kErrorClasses.size(); ++i) {
    ErrorAction action = actions.Get(i);
    section.ReadChoice<ErrorAction>(std::string(kErrorClasses[i].code), action,
                                    names);
    actions.Set(i, action);
  }
  section.Done("; its keys are classes of errors (docs/dead-letters.md)");
}

void ReadSeconds(Section& section, const std::string& key,
                 std::chrono::seconds& value, milliseconds most) {
  milliseconds read = value;
  section.Read(key, read, milliseconds(0), most);
  value = std::chrono::ceil<std::chrono::seconds>(read);
}

void ReadIsolation(Section& section, ParkingOptions& parking) {
  constexpr std::chrono::seconds kLeast{10};
  constexpr std::chrono::hours kMaxTime{24 * 30};
  ReadSeconds(section, "isolate_after", parking.isolate_after, minutes(60));
  if (parking.isolates() && parking.isolate_after < kLeast) {
    section.Fail("isolate_after",
                 "is less than 10s, which a broker that fails over may take");
  }
  section.ReadSize("max_isolated_bytes", parking.max_isolated_bytes, 1,
                   size_t{1} << 44);
  ReadSeconds(section, "max_isolated_time", parking.max_isolated_time,
              kMaxTime);
}

void ReadParking(Section section, ParkingOptions& parking) {
  constexpr size_t kMaxKeys = 100'000;
  section.Read("table", parking.table);
  CompleteTableName(section, "table", parking.table);
  section.ReadCount("max_keys", parking.max_keys, 1, kMaxKeys);
  ReadIsolation(section, parking);
  section.Done();
}

// Parked events wait behind others of their key.
void CheckParking(Section& root, const Config& config) {
  if (config.keeps_letters() && config.source == Source::kPolling) {
    root.Fail("dead_letter.store",
              "postgres needs source: wal; with polling, set state.failed, and "
              "rows that cannot be delivered are marked in their table, or set "
              "store: kafka");
  }
  if (config.parking.isolates() && config.source == Source::kPolling) {
    root.Fail("parking.isolate_after",
              "needs source: wal; with polling, a topic without a leader or of "
              "another user affects only its own rows");
  }
  if (!config.on_error.Uses(ErrorAction::kPark)) return;
  if (config.source == Source::kPolling) {
    root.Fail("on_error",
              "park needs source: wal; with polling, set state.failed, and "
              "later rows of the key wait for a failed one");
  }
  for (const TableOptions& table : EntriesOf(config.outbox)) {
    if (table.columns.aggregate_id.kind != FieldSource::Kind::kAbsent) continue;
    root.Fail("on_error", fmt::format("park holds up the later events of a "
                                      "key, and events of table {} have none "
                                      "(columns.aggregate_id: null)",
                                      table.name));
  }
}

bool IsTopicName(std::string_view name) {
  constexpr size_t kMaxLength = 249;
  return !name.empty() && name.size() <= kMaxLength && name != "." &&
         name != ".." && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
         });
}

void ReadCheckpoint(Section section, CheckpointOptions& checkpoint) {
  section.ReadChoice("store", checkpoint.store, CheckpointOptions::kStores);
  section.Read("path", checkpoint.path);
  if (checkpoint.path.empty() || checkpoint.path.ends_with('/')) {
    section.Fail("path", "it must name a file");
  }
  section.Read("topic", checkpoint.topic);
  if (!IsTopicName(checkpoint.topic)) {
    section.Fail("topic",
                 fmt::format("'{}' is not a topic name (1 to 249 of a-z, "
                             "A-Z, 0-9, '.', '_' and '-')",
                             checkpoint.topic));
  }
  section.Read("table", checkpoint.table);
  CompleteTableName(section, "table", checkpoint.table);
  section.Read("interval", checkpoint.interval, milliseconds(10), minutes(10));
  section.Done();
}

void ReadReplay(Section section, WalSourceOptions& postgres) {
  ReplayOptions& replay = postgres.replay;
  section.ReadSize("window", replay.window_bytes, 0, kMaxWalBytes);
  if (replay.enabled() && replay.window_bytes < kMinReplayWindow) {
    section.Fail("window", "0 (off) or at least 64KiB is expected here");
  }
  section.Read("window_time", replay.window_time, milliseconds(0),
               minutes(60 * 24 * 365));
  section.Done();
  if (replay.window_time.count() > 0 && !replay.enabled()) {
    section.Fail("window_time", "it needs replay.window, a size");
  }
}

void ReadRetention(Section section, RetentionOptions& retention) {
  constexpr minutes kMax{60 * 24 * 3660};
  constexpr size_t kMaxBatchRows = 100'000;
  constexpr size_t kMaxDaysAhead = 366;
  section.Read("keep", retention.keep, milliseconds(0), kMax);
  section.Read("interval", retention.interval, seconds(1), kMax);
  section.ReadCount("batch_rows", retention.batch_rows, 1, kMaxBatchRows);
  section.Read("pause", retention.pause, milliseconds(0), minutes(60));
  section.ReadCount("partitions_ahead", retention.partitions_ahead, 0,
                    kMaxDaysAhead);
  section.Done();
}

void CheckRetention(Section& root, const Config& config) {
  if (!config.retention.enabled()) return;
  const absl::Status status = CheckOnlyCopies(config);
  if (!status.ok()) root.Fail("retention", std::string(status.message()));
}

void ReadHttp(Section section, HttpOptions& http) {
  section.Read("listen", http.listen);
  section.Done();
}

void ReadLog(Section section, LogOptions& log) {
  section.ReadChoice("level", log.level, kLogLevels);
  section.ReadChoice("format", log.format, kLogFormats);
  section.Read("keys", log.keys);
  section.Done();
}

void ReadKeys(Section& root, Config& config) {
  root.ReadChoice<Source>(
      "source", config.source,
      {{"wal", Source::kWal}, {"polling", Source::kPolling}});
  ReadSinkKind(root, config);
  ReadPostgres(root.Child("postgres"), config.postgres, config.outbox.origin);
  ReadPolling(root.Child("polling"), config.polling);
  ReadOutbox(root.Child("outbox"), config.outbox);
  ReadRecords(root.Child("records"), config.outbox);
  ReadRoute(root.Child("route"), config.outbox);
  ReadValue(root.Child("value"), config.outbox.value_format);
  ReadSink(root, config);
  ReadDelivery(root.Child("delivery"), config);
  ReadOnError(root.Child("on_error"), config.on_error);
  ReadParking(root.Child("parking"), config.parking);
  ReadDeadLetter(root.Child("dead_letter"), config.sink, config.outbox);
  root.ReadChoice<bool>("snapshot", config.postgres.initial_snapshot,
                        {{"never", false}, {"initial", true}});
  ReadCheckpoint(root.Child("checkpoint"), config.checkpoint);
  ReadReplay(root.Child("replay"), config.postgres);
  ReadRetention(root.Child("retention"), config.retention);
  ReadHttp(root.Child("http"), config.http);
  ReadLog(root.Child("log"), config.log);
}

Config ReadConfig(Section root) {
  Config config;
  ReadKeys(root, config);
  root.Done();
  CheckRecords(root, config.outbox);
  CheckPollingSource(root, config);
  CheckSinkKind(root, config);
  CheckExactlyOnce(root, config);
  CheckParking(root, config);
  CheckRetention(root, config);
  SetCheckpointTopic(root, config);
  CompleteSink(config);
  return config;
}

// `line` counts from 1.
bool IsIndentedWithTab(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const size_t first = text.find_first_not_of(" \t");
  return text.substr(0, first).find('\t') != std::string_view::npos;
}

}  // namespace

std::vector<KeyDescription> DescribeKeys(Config config) {
  std::vector<KeyDescription> description;
  const Environment environment;
  Document document{"", environment, {}, absl::OkStatus()};
  document.description = &description;
  Section root(document, YAML::Node(), "");
  ReadKeys(root, config);
  return description;
}

std::vector<KeyDescription> DescribeDefaults() {
  Config config;
  config.outbox.tables.emplace_back();
  return DescribeKeys(std::move(config));
}

absl::StatusOr<Config> LoadConfig(const std::string& path,
                                  const std::vector<std::string>& overrides,
                                  Secrets secrets, std::string_view named_by) {
  const Environment environment = Environment::Real();
  const absl::StatusOr<std::string> text = environment.file(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("configuration file {} cannot be read: {}{}{}", path,
                    std::string(text.status().message()),
                    named_by.empty() ? "" : "; ", named_by));
  }
  return ParseConfig(*text, path, overrides, environment, secrets);
}

absl::StatusOr<Config> ParseConfig(std::string_view text,
                                   const std::string& file_name,
                                   const std::vector<std::string>& overrides,
                                   const Environment& environment,
                                   Secrets secrets) {
  Document document{file_name, environment, {}, absl::OkStatus(), secrets};
  // yaml-cpp throws; no exception leaves this function.
  try {
    YAML::Node root = LoadYamlDocument(std::string(text));
    WALPOST_RETURN_IF_ERROR(
        ApplyOverrides(overrides, root, document.overridden));
    Config config = ReadConfig(Section(document, root, ""));
    WALPOST_RETURN_IF_ERROR(document.error);
    return config;
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line + 1;
    return absl::InvalidArgumentError(fmt::format(
        "{}:{}: this line is not YAML: {}", file_name, line,
        IsIndentedWithTab(text, line) ? "it is indented with a tab; use spaces"
                                      : error.msg));
  }
}

}  // namespace walpost
