#include "config/live_config.h"

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <utility>

#include "base/reloadable_text.h"
#include "config/config.h"
#include "config/conninfo.h"
#include "config/printer.h"
#include "config/secrets.h"
#include "config/substitution.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// The credentials of the sinks beside Kafka, by their keys: what a reload takes
// up while walpost runs. Valid as long as `config`. Properties of Kafka are
// taken up one by one (live_config.h).
std::map<std::string, ReloadableText*> SinkCredentials(Config& config) {
  RabbitmqOptions& rabbitmq = config.rabbitmq;
  RedisOptions& redis = config.redis;
  return {
      {"nats.user", &config.nats.user},
      {"nats.password", &config.nats.password},
      {"nats.token", &config.nats.token},
      {"rabbitmq.user", &rabbitmq.user},
      {"rabbitmq.password", &rabbitmq.password},
      {"redis.user", &redis.user},
      {"redis.password", &redis.password},
      {"redis.sentinel_user", &redis.sentinel_user},
      {"redis.sentinel_password", &redis.sentinel_password},
  };
}

using Leaves = std::map<std::string, std::string>;

void Collect(const YAML::Node& node, const std::string& path, Leaves& leaves) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      const std::string& key = entry.first.Scalar();
      Collect(entry.second, path.empty() ? key : path + "." + key, leaves);
    }
  } else if (node.IsSequence()) {
    for (size_t i = 0; i < node.size(); ++i) {
      Collect(node[i], fmt::format("{}[{}]", path, i), leaves);
    }
  } else {
    leaves[path] = node.IsNull() ? "null" : node.Scalar();
  }
}

// Every key with its value, except keys that are compared separately.
Leaves LeavesOf(Config config) {
  config.postgres.server = {};
  config.kafka.properties.clear();
  config.kafka.token_command.clear();
  for (const auto& [key, text] : SinkCredentials(config)) *text = {};
  config.log = {};
  Leaves leaves;
  Collect(YAML::Load(PrintConfig(config)), "", leaves);
  return leaves;
}

bool IsLiveProperty(std::string_view property) {
  return IsSecretProperty(property) || property.ends_with(".location");
}

// What the references of the same text stand for has changed.
bool HasNewContents(const ReloadableText& fresh, const ReloadableText& before) {
  return fresh.digest() && before.digest() &&
         *fresh.digest() != *before.digest();
}

std::string Masked(const ReloadableText& text) {
  return text.has_references() ? MaskReferences(text.configured())
                               : text.configured();
}

}  // namespace

LiveConfig::SharedCell LiveConfig::Wrap(ReloadableText& text) {
  auto cell = std::make_shared<Cell>(text);
  text =
      ReloadableText(text.configured(), [cell] { return cell->Get().Read(); });
  return cell;
}

LiveConfig::LiveConfig(Config config)
    : config_(std::move(config)),
      conninfo_(Wrap(config_.postgres.server.conninfo)) {
  for (auto& [name, value] : config_.kafka.properties) {
    if (IsLiveProperty(name)) properties_[name] = Wrap(value);
  }
  for (const auto& [key, text] : SinkCredentials(config_)) {
    credentials_[key] = Wrap(*text);
  }
}

LiveConfig::Changes LiveConfig::TakeUp(const Config& fresh) {
  Changes changes;
  if (fresh.log.level != config_.log.level) {
    changes.taken_up.push_back("log.level");
  }
  if (fresh.log.format != config_.log.format) {
    changes.taken_up.push_back("log.format");
  }
  if (fresh.log.keys != config_.log.keys) {
    changes.taken_up.push_back("log.keys");
  }
  config_.log = fresh.log;
  TakeUpConninfo(fresh, changes);
  if (fresh.postgres.server.password_command !=
      config_.postgres.server.password_command) {
    changes.need_restart.push_back("postgres.password_command");
  }
  if (fresh.kafka.token_command != config_.kafka.token_command) {
    changes.need_restart.push_back("kafka.token_command");
  }
  TakeUpProperties(fresh, changes);
  TakeUpCredentials(fresh, changes);
  Leaves before = LeavesOf(config_);
  for (const auto& [key, value] : LeavesOf(fresh)) {
    const auto old = before.find(key);
    if (old == before.end() || old->second != value) {
      changes.need_restart.push_back(key);
    }
    if (old != before.end()) before.erase(old);
  }
  for (const auto& [key, value] : before) changes.need_restart.push_back(key);
  return changes;
}

void LiveConfig::TakeUpConninfo(const Config& fresh, Changes& changes) {
  const ReloadableText& conninfo = fresh.postgres.server.conninfo;
  const ReloadableText before = conninfo_->Get();
  if (conninfo == before) {
    if (HasNewContents(conninfo, before)) {
      conninfo_->Set(conninfo);
      changes.taken_up.push_back("postgres.conninfo (new contents)");
    }
    return;
  }
  if (DifferInCredentialsAlone(Masked(conninfo), Masked(before))) {
    conninfo_->Set(conninfo);
    changes.taken_up.push_back("postgres.conninfo");
  } else {
    changes.need_restart.push_back("postgres.conninfo");
  }
}

void LiveConfig::TakeUpCredentials(Config fresh, Changes& changes) {
  for (const auto& [key, text] : SinkCredentials(fresh)) {
    Cell& cell = *credentials_.at(key);
    const ReloadableText before = cell.Get();
    const bool is_same = *text == before;
    if (is_same && !HasNewContents(*text, before)) continue;
    cell.Set(*text);
    changes.taken_up.push_back(is_same ? key + " (new contents)" : key);
  }
}

void LiveConfig::TakeUpProperties(const Config& fresh, Changes& changes) {
  std::map<std::string, ReloadableText> before;
  for (const auto& [name, value] : config_.kafka.properties) {
    const auto cell = properties_.find(name);
    before[name] = cell == properties_.end() ? value : cell->second->Get();
  }
  for (const auto& [name, value] : fresh.kafka.properties) {
    const std::string key = "kafka.properties." + name;
    const auto old = before.find(name);
    const bool is_new = old == before.end();
    if (is_new || !(old->second == value)) {
      const auto cell = properties_.find(name);
      if (!is_new && cell != properties_.end()) {
        cell->second->Set(value);
        changes.taken_up.push_back(key);
      } else {
        changes.need_restart.push_back(key);
      }
    } else if (HasNewContents(value, old->second) &&
               properties_.contains(name)) {
      properties_[name]->Set(value);
      changes.taken_up.push_back(key + " (new contents)");
    }
    if (!is_new) before.erase(old);
  }
  for (const auto& [name, value] : before) {
    changes.need_restart.push_back("kafka.properties." + name);
  }
}

}  // namespace walpost
