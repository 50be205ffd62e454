// The outbox event router: fields, topic, placements and payload.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "import/import_context.h"
#include "import/key_rules.h"
#include "outbox/java_pattern.h"
#include "outbox/topic_template.h"

namespace walpost {
namespace {

constexpr char kUsualRegex[] = "(?<routedByValue>.*)";
constexpr char kUsualReplacement[] = "outbox.event.${routedByValue}";

class RouterTranslation {
 public:
  RouterTranslation(ImportContext& context, std::string prefix)
      : context_(context), prefix_(std::move(prefix)) {}

  void Run() {
    context_.settings.Take(prefix_ + "type");
    context_.settings.Take(prefix_ + "predicate");
    context_.settings.Take(prefix_ + "negate");
    Column("id", "table.field.event.id", "id");
    Column("aggregate_type", "route.by.field", "aggregatetype");
    Column("aggregate_id", "table.field.event.key", "aggregateid");
    Column("payload", "table.field.event.payload", "payload");
    Column("timestamp", "table.field.event.timestamp", "");
    Topic();
    Placements();
    MissingColumns();
    if (const auto version = Plain("table.field.event.schema.version")) {
      if (!version->empty()) context_.SetRecords("schema_version", *version);
    }
    Payload();
    Updates();
    ReportLeft(RouterRules(), "the outbox event router",
               context_.settings.WithPrefix(prefix_), prefix_.size(),
               context_.report);
  }

 private:
  std::optional<std::string> Plain(std::string_view name) {
    return context_.Plain(prefix_ + std::string(name));
  }

  std::string KeyOf(std::string_view name) const {
    const Setting* setting =
        context_.settings.Find(prefix_ + std::string(name));
    return setting == nullptr ? prefix_ + std::string(name) : setting->key;
  }

  void Column(const char* field, const char* name, std::string_view usual) {
    const auto column = Plain(name);
    if (column && !column->empty() && *column != usual) {
      context_.config.columns.emplace_back(field, *column);
    }
  }

  // The value of a pattern or replacement, in which ${name} is no reference.
  std::string RouteText(std::string_view name, const char* usual) {
    const Setting* setting =
        context_.settings.Take(prefix_ + std::string(name));
    if (setting == nullptr) return usual;
    std::string text = setting->value;
    if (!context_.is_server) return text;
    // Debezium Server reads ${...} as a reference unless it is escaped.
    for (const std::string_view escaped : {"\\${", "$${", "$\\{"}) {
      for (size_t at = text.find(escaped); at != std::string::npos;
           at = text.find(escaped, at + 2)) {
        text.replace(at, escaped.size(), "${");
      }
    }
    return text;
  }

  void Topic() {
    const std::string regex = RouteText("route.topic.regex", kUsualRegex);
    const std::string replacement =
        RouteText("route.topic.replacement", kUsualReplacement);
    const auto pattern = JavaPattern::Create(regex, replacement);
    if (!pattern.ok()) {
      const std::string message(pattern.status().message());
      context_.report.Refuse(
          KeyOf(message.starts_with("replacement") ? "route.topic.replacement"
                                                   : "route.topic.regex"),
          message);
      return;
    }
    context_.config.topic = WithoutPattern(regex, replacement);
    if (context_.config.topic.empty()) {
      context_.config.topic =
          fmt::format("{{aggregate_type|match:{}:{}}}", EscapedInBraces(regex),
                      EscapedInBraces(replacement));
    }
  }

  // A template that needs no pattern: it takes the whole value, and the
  // replacement puts it between two texts. Empty: there is none.
  static std::string WithoutPattern(std::string_view regex,
                                    std::string_view replacement) {
    std::string group = "$0";
    if (regex == "(.*)") {
      group = "$1";
    } else if (regex.starts_with("(?<") && regex.ends_with(">.*)")) {
      group = fmt::format("${{{}}}", regex.substr(3, regex.size() - 7));
    } else if (regex != ".*") {
      return {};
    }
    size_t at = replacement.find(group);
    if (at == std::string_view::npos && regex.size() > 2) {
      group = "$1";
      at = replacement.find(group);
    }
    if (at == std::string_view::npos) return {};
    const std::string_view before = replacement.substr(0, at);
    const std::string_view after = replacement.substr(at + group.size());
    constexpr std::string_view kLiteral =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const bool has_digit_after =
        !group.ends_with('}') && !after.empty() &&
        absl::ascii_isdigit(static_cast<unsigned char>(after[0]));
    if (before.find_first_not_of(kLiteral) != std::string_view::npos ||
        after.find_first_not_of(kLiteral) != std::string_view::npos ||
        has_digit_after) {
      return {};
    }
    return fmt::format("{}{{aggregate_type|allow_empty}}{}", before, after);
  }

  void Placements() {
    constexpr const char* kName = "table.fields.additional.placement";
    const auto list = Plain(kName);
    if (!list) return;
    std::vector<std::string> members = {"payload"};
    const std::vector<std::string> entries = absl::StrSplit(*list, ',');
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string entry(absl::StripAsciiWhitespace(entries[i]));
      if (entry.empty() && i + 1 == entries.size() && i > 0) continue;
      std::vector<std::string> parts = absl::StrSplit(entry, ':');
      for (std::string& part : parts) absl::StripAsciiWhitespace(&part);
      const std::string place =
          parts.size() < 2 ? "" : absl::AsciiStrToLower(parts[1]);
      if (parts.size() > 3 ||
          (place != "header" && place != "envelope" && place != "partition")) {
        context_.report.Refuse(
            KeyOf(kName),
            fmt::format("'{}' is not column:place or column:place:name, where "
                        "place is header, envelope or partition: Debezium "
                        "cannot use it either",
                        entry));
        continue;
      }
      const std::string& name =
          parts.back() == parts[1] ? parts[0] : parts.back();
      if (place == "envelope") {
        if (std::ranges::find(members, name) != members.end()) {
          context_.report.Refuse(
              KeyOf(kName), fmt::format("the envelope would have two members "
                                        "'{}': Debezium fails then",
                                        name));
        }
        members.push_back(name);
      }
      context_.config.placements.push_back(
          parts.size() == 3 ? fmt::format("{}:{}:{}", parts[0], place, parts[2])
                            : fmt::format("{}:{}", parts[0], place));
      if (place == "partition" && context_.is_server) {
        context_.report.Remark(KeyOf(kName),
                               "Debezium Server ignores the partition, and so "
                               "does records.runtime: server");
      }
    }
  }

  void MissingColumns() {
    const auto missing =
        context_.Choice(prefix_ + "table.field.additional.missing",
                        {{"error", "error"}, {"ignore", "ignore"}});
    const auto fails =
        context_.Flag(prefix_ + "table.fields.additional.error.on.missing");
    if ((missing && *missing == "ignore") || (!missing && fails && !*fails)) {
      context_.SetRecords("missing_columns", "ignore");
    }
  }

  void Payload() {
    const auto flag = [&](const char* name, const char* key) {
      if (context_.Flag(prefix_ + name).value_or(false)) {
        context_.SetRecords(key, "true");
      }
    };
    flag("route.tombstone.on.empty.payload", "tombstone_on_empty");
    flag("table.expand.json.payload", "expand_json");
    const auto nulls = context_.Choice(
        prefix_ + "table.json.payload.null.behavior",
        {{"ignore", "ignore"}, {"optional_bytes", "optional_bytes"}});
    if (nulls && *nulls != "ignore") context_.SetRecords("json_nulls", *nulls);
    const auto arrays = context_.Choice(
        prefix_ + "table.json.payload.empty.array.behavior",
        {{"ignore", "ignore"}, {"optional_string", "optional_string"}});
    if (arrays && *arrays != "ignore") {
      context_.SetRecords("json_empty_arrays", *arrays);
    }
  }

  void Updates() {
    const auto behavior = context_.Choice(
        prefix_ + "table.op.invalid.behavior",
        {{"warn", "ignore"}, {"error", "ignore"}, {"fatal", "stop"}});
    const Setting* skipped = context_.settings.Find("skipped.operations");
    const bool are_skipped =
        skipped != nullptr && skipped->value.find('u') != std::string::npos;
    if (behavior && *behavior == "stop" && !are_skipped) {
      context_.SetRecords("on_update", "stop");
    }
  }

  ImportContext& context_;
  const std::string prefix_;
};

}  // namespace

void ImportRouter(ImportContext& context, const std::string& prefix) {
  RouterTranslation(context, prefix).Run();
}

}  // namespace walpost
