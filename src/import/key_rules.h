// KeyRule: what becomes of a setting whose value nobody needs to look into, or
// only to see that it changes nothing.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "import/import_report.h"
#include "import/settings.h"

namespace walpost {

struct KeyRule {
  // `name*` stands for all names that begin so.
  std::string_view name;
  enum class Treatment { kCarried, kNotNeeded, kOpen, kRefused } treatment;
  // kCarried: walpost's key. Else why, and what to do.
  std::string_view text;
  // Values with which a setting that is refused or open changes nothing;
  // separated by |.
  std::string_view harmless = {};
};

// Settings of a connector: Debezium's for Postgres and Kafka Connect's own.
std::span<const KeyRule> ConnectorRules();
// Settings of the transformation EventRouter.
std::span<const KeyRule> RouterRules();
// Settings of Kafka's producer.
std::span<const KeyRule> ProducerRules();
// Settings of Debezium Server that are not a connector's.
std::span<const KeyRule> ServerRules();

// nullptr: there is none for this name.
const KeyRule* FindRule(std::span<const KeyRule> rules, std::string_view name);

// Reports the settings that nothing has taken by their rules. A name without a
// rule, or with one that says it is carried, is refused as unknown; `strip` is
// what its name begins with.
void ReportLeft(std::span<const KeyRule> rules, std::string_view owner,
                const std::vector<Setting*>& settings, size_t strip,
                ImportReport& report);

}  // namespace walpost
