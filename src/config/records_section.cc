#include "config/records_section.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "debezium/options.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using debezium::Placement;

enum class Profile { kRaw, kDebezium };
constexpr Choices<Profile, 2> kProfiles = {{
    {"raw", Profile::kRaw},
    {"debezium", Profile::kDebezium},
}};

// column:place or column:place:name, as in table.fields.additional.placement.
std::optional<Placement> ParsePlacement(std::string_view text) {
  std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ':');
  for (std::string& part : parts) absl::StripAsciiWhitespace(&part);
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty() ||
      parts.back().empty()) {
    return std::nullopt;
  }
  Placement placement;
  placement.column = parts[0];
  placement.name = parts.size() == 3 ? parts[2] : parts[0];
  for (const auto& [name, place] : Placement::kPlaces) {
    if (absl::AsciiStrToLower(parts[1]) != std::string(name)) continue;
    placement.place = place;
    return placement;
  }
  return std::nullopt;
}

std::string TextOf(const Placement& placement) {
  return fmt::format("{}:{}:{}", placement.column,
                     NameIn(Placement::kPlaces, placement.place),
                     placement.name);
}

void ReadPlacements(Section& section, std::vector<Placement>& placements) {
  constexpr const char* kKey = "placements";
  std::vector<std::string> texts;
  for (const Placement& placement : placements) {
    texts.push_back(TextOf(placement));
  }
  section.ReadList(kKey, texts);
  if (section.is_described()) return;
  placements.clear();
  for (const std::string& text : texts) {
    const std::optional<Placement> placement = ParsePlacement(text);
    if (!placement) {
      return section.Fail(
          kKey, fmt::format("'{}' is not column:place or column:place:name, "
                            "where place is one of header, envelope and "
                            "partition",
                            text));
    }
    const bool is_taken =
        placement->place == Placement::Place::kEnvelope &&
        (placement->name == "payload" ||
         std::ranges::any_of(placements, [&](const Placement& other) {
           return other.place == placement->place &&
                  other.name == placement->name;
         }));
    if (is_taken) {
      return section.Fail(
          kKey, fmt::format("'{}': the envelope has a member '{}' already: "
                            "give this one another name",
                            text, placement->name));
    }
    placements.push_back(*placement);
  }
}

void ReadKeys(Section& section, debezium::Options& options) {
  section.Read("logical_name", options.logical_name);
  section.ReadChoice("runtime", options.runtime, debezium::kRuntimes);
  section.ReadChoice("context_headers", options.context_headers,
                     debezium::kContextHeaders);
  section.ReadChoice("key_converter", options.key_converter,
                     debezium::kConverters);
  section.ReadChoice("value_converter", options.value_converter,
                     debezium::kConverters);
  section.ReadChoice("header_converter", options.header_converter,
                     debezium::kHeaderConverters);
  section.ReadChoice("json_decimals", options.json_decimals,
                     debezium::kJsonDecimals);
  section.Read("replace_null_with_default", options.replace_null_with_default);
  section.ReadChoice("binary", options.binary, debezium::kBinaryModes);
  section.ReadChoice("decimal", options.decimal, debezium::kDecimalModes);
  section.ReadChoice("time_precision", options.time_precision,
                     debezium::kTimePrecisions);
  section.ReadChoice("interval", options.interval, debezium::kIntervalModes);
  section.ReadChoice("hstore", options.hstore, debezium::kHstoreModes);
  section.Read("unknown_types", options.unknown_types);
  ReadPlacements(section, options.placements);
  section.ReadChoice("missing_columns", options.missing_columns,
                     debezium::kMissingColumns);
  section.Read("schema_version", options.schema_version);
  section.Read("tombstone_on_empty", options.tombstone_on_empty);
  section.Read("expand_json", options.expand_json);
  section.ReadChoice("json_nulls", options.json_nulls, debezium::kJsonNulls);
  section.ReadChoice("json_empty_arrays", options.json_empty_arrays,
                     debezium::kJsonEmptyArrays);
  section.Read("message_nulls", options.message_nulls);
  section.ReadChoice("on_update", options.on_update, debezium::kOnUpdates);
}

void Complete(Section& section, OutboxOptions& outbox,
              debezium::Options options) {
  using debezium::Converter;
  const auto has_schemas = [](Converter converter) {
    return converter == Converter::kJsonSchemas ||
           converter == Converter::kBytesOrJsonSchemas;
  };
  const bool is_named =
      options.context_headers != debezium::ContextHeaders::kNone ||
      has_schemas(options.value_converter);
  if (options.logical_name.empty() && is_named) {
    section.Fail("logical_name",
                 "is missing: it is topic.prefix of the connector, and stands "
                 "in headers and schemas");
  }
  outbox.debezium =
      std::make_shared<const debezium::Options>(std::move(options));
  for (TableOptions& table : outbox.tables) table.debezium = outbox.debezium;
  for (TableOptions& entry : outbox.patterns) entry.debezium = outbox.debezium;
  outbox.messages.debezium = outbox.debezium;
  outbox.route.topic = debezium::kUsualTopic;
  outbox.route.position_header = false;
}

}  // namespace

void ReadRecords(Section section, OutboxOptions& outbox) {
  Profile profile = outbox.debezium ? Profile::kDebezium : Profile::kRaw;
  section.ReadChoice("profile", profile, kProfiles);
  debezium::Options options =
      outbox.debezium ? *outbox.debezium : debezium::Options();
  ReadKeys(section, options);
  section.Done();
  if (section.is_described()) return;
  if (profile == Profile::kDebezium) {
    Complete(section, outbox, std::move(options));
  } else if (!(options == debezium::Options())) {
    section.Fail("profile",
                 "is raw, and the other keys of records are for debezium: set "
                 "profile: debezium, or remove them");
  }
}

void CheckRecords(Section& root, const OutboxOptions& outbox) {
  if (!outbox.debezium) return;
  constexpr std::string_view kNeedless =
      "has no effect on records as Debezium makes them "
      "(records.profile: debezium)";
  const auto refuse = [&](const std::string& key, std::string_view remedy) {
    root.Fail(key, fmt::format("{}: {}", kNeedless, remedy));
  };
  if (outbox.value_format != ValueFormat::kRaw) {
    refuse("value", "remove value.format");
  }
  if (!outbox.route.headers.empty()) {
    refuse("route", "put the columns of route.headers into records.placements");
  }
  if (!outbox.route.partition.empty()) {
    refuse("route",
           "put the column of route.partition into records.placements");
  }
  if (outbox.messages.format == MessageOptions::Format::kPayload) {
    refuse("outbox", "remove outbox.messages.format");
  }
  if (outbox.messages.columns.timestamp.kind == FieldSource::Kind::kColumn) {
    refuse("outbox", "remove outbox.messages.columns.timestamp");
  }
  for (const TableOptions& table : EntriesOf(outbox)) {
    const FieldSources& columns = table.columns;
    for (const FieldSource* field :
         {&columns.id, &columns.aggregate_type, &columns.aggregate_id,
          &columns.payload, &columns.timestamp}) {
      if (field->kind != FieldSource::Kind::kConstant) continue;
      refuse("outbox", fmt::format("map a column instead of the constant '{}' "
                                   "in columns of table {}",
                                   field->text, table.name));
    }
    const FieldSource::Kind headers = columns.headers.kind;
    if (!table.value_columns.empty() || table.claim_check_above > 0 ||
        table.partition || headers == FieldSource::Kind::kColumn ||
        headers == FieldSource::Kind::kConstant) {
      refuse("outbox", fmt::format("remove value.columns, claim_check_above, "
                                   "partition and columns.headers of table {}",
                                   table.name));
    }
  }
}

}  // namespace walpost
