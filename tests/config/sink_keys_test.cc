// Each key of the sinks beside Kafka lands in its field, and is printed.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "config/key_texts.h"
#include "config/loader.h"
#include "config/printer.h"
#include "fmt/format.h"

namespace walpost {
namespace {

struct Row {
  std::string key;
  std::string value;  // in the file
  std::string (*read)(const Config& config);
  std::string others = "";  // that the key needs
  std::string shown = "";   // if it is read as something else
};

std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(size_t value) { return std::to_string(value); }
std::string Text(const ReloadableText& value) { return *value.Read(); }
std::string Text(std::chrono::milliseconds value) {
  return fmt::format("{}ms", value.count());
}

const Row kRows[] = {
    {"nats.servers", "a:1", [](const Config& c) { return c.nats.servers; }},
    {"nats.user", "u", [](const Config& c) { return Text(c.nats.user); }},
    {"nats.password", "p",
     [](const Config& c) { return Text(c.nats.password); }},
    {"nats.token", "t", [](const Config& c) { return Text(c.nats.token); }},
    {"nats.credentials_file", "f",
     [](const Config& c) { return c.nats.credentials_file; }},
    {"nats.tls.enabled", "true",
     [](const Config& c) { return Text(c.nats.tls.enabled); }},
    {"nats.tls.ca_file", "f",
     [](const Config& c) { return c.nats.tls.ca_file; }, "enabled: true"},
    {"nats.tls.certificate_file", "f",
     [](const Config& c) { return c.nats.tls.certificate_file; },
     "enabled: true, key_file: k"},
    {"nats.tls.key_file", "f",
     [](const Config& c) { return c.nats.tls.key_file; },
     "enabled: true, certificate_file: c"},
    {"nats.domain", "d", [](const Config& c) { return c.nats.domain; }},
    {"nats.ack_timeout", "7s",
     [](const Config& c) { return Text(c.nats.ack_timeout); }, "", "7000ms"},
    {"nats.create_stream.name", "S",
     [](const Config& c) { return c.nats.create_stream->name; },
     "subjects: [a]"},
    {"nats.create_stream.subjects", "[a.b]",
     [](const Config& c) { return c.nats.create_stream->subjects.at(0); },
     "name: S", "a.b"},
    {"nats.create_stream.replicas", "5",
     [](const Config& c) {
       return std::to_string(c.nats.create_stream->replicas);
     },
     "name: S, subjects: [a]"},
    {"nats.create_stream.duplicate_window", "3s",
     [](const Config& c) {
       return Text(c.nats.create_stream->duplicate_window);
     },
     "name: S, subjects: [a]", "3000ms"},

    {"rabbitmq.nodes", "a:1", [](const Config& c) { return c.rabbitmq.nodes; }},
    {"rabbitmq.vhost", "/v", [](const Config& c) { return c.rabbitmq.vhost; }},
    {"rabbitmq.user", "u",
     [](const Config& c) { return Text(c.rabbitmq.user); }},
    {"rabbitmq.password", "p",
     [](const Config& c) { return Text(c.rabbitmq.password); }},
    {"rabbitmq.tls.enabled", "true",
     [](const Config& c) { return Text(c.rabbitmq.tls.enabled); }},
    {"rabbitmq.tls.ca_file", "f",
     [](const Config& c) { return c.rabbitmq.tls.ca_file; }, "enabled: true"},
    {"rabbitmq.tls.certificate_file", "f",
     [](const Config& c) { return c.rabbitmq.tls.certificate_file; },
     "enabled: true, key_file: k"},
    {"rabbitmq.tls.key_file", "f",
     [](const Config& c) { return c.rabbitmq.tls.key_file; },
     "enabled: true, certificate_file: c"},
    {"rabbitmq.tls.verify_host", "false",
     [](const Config& c) { return Text(c.rabbitmq.tls.verify_host); }},
    {"rabbitmq.exchange", "e",
     [](const Config& c) { return c.rabbitmq.exchange; }},
    {"rabbitmq.routing_key", "r",
     [](const Config& c) { return c.rabbitmq.routing_key; }},
    {"rabbitmq.content_type", "t",
     [](const Config& c) { return c.rabbitmq.content_type; }},
    {"rabbitmq.create.exchange_type", "topic",
     [](const Config& c) { return c.rabbitmq.create.exchange_type; }},
    {"rabbitmq.create.queue", "q",
     [](const Config& c) { return c.rabbitmq.create.queue; }},
    {"rabbitmq.create.binding_key", "b",
     [](const Config& c) { return c.rabbitmq.create.binding_key; }},
    {"rabbitmq.heartbeat", "9s",
     [](const Config& c) { return Text(c.rabbitmq.heartbeat); }, "", "9000ms"},
    {"rabbitmq.connect_timeout", "8s",
     [](const Config& c) { return Text(c.rabbitmq.connect_timeout); }, "",
     "8000ms"},
    {"rabbitmq.confirm_timeout", "7s",
     [](const Config& c) { return Text(c.rabbitmq.confirm_timeout); }, "",
     "7000ms"},
    {"rabbitmq.max_message_bytes", "1KiB",
     [](const Config& c) { return Text(c.rabbitmq.max_message_bytes); }, "",
     "1024"},

    {"redis.address", "a:1", [](const Config& c) { return c.redis.address; }},
    {"redis.cluster", "[a:1]",
     [](const Config& c) { return c.redis.cluster.at(0); }, "", "a:1"},
    {"redis.sentinels", "[a:1]",
     [](const Config& c) { return c.redis.sentinels.at(0); }, "", "a:1"},
    {"redis.master", "m", [](const Config& c) { return c.redis.master; }},
    {"redis.user", "u", [](const Config& c) { return Text(c.redis.user); }},
    {"redis.password", "p",
     [](const Config& c) { return Text(c.redis.password); }},
    {"redis.sentinel_user", "u",
     [](const Config& c) { return Text(c.redis.sentinel_user); }},
    {"redis.sentinel_password", "p",
     [](const Config& c) { return Text(c.redis.sentinel_password); }},
    {"redis.tls.enabled", "true",
     [](const Config& c) { return Text(c.redis.tls.enabled); }},
    {"redis.tls.ca_file", "f",
     [](const Config& c) { return c.redis.tls.ca_file; }, "enabled: true"},
    {"redis.tls.certificate_file", "f",
     [](const Config& c) { return c.redis.tls.certificate_file; },
     "enabled: true, key_file: k"},
    {"redis.tls.key_file", "f",
     [](const Config& c) { return c.redis.tls.key_file; },
     "enabled: true, certificate_file: c"},
    {"redis.tls.verify_host", "false",
     [](const Config& c) { return Text(c.redis.tls.verify_host); }},
    {"redis.database", "3",
     [](const Config& c) { return Text(c.redis.database); }},
    {"redis.durability", "memory",
     [](const Config& c) {
       return std::string(
           c.redis.durability == RedisDurability::kMemory ? "memory" : "fsync");
     }},
    {"redis.replicas", "2",
     [](const Config& c) { return Text(c.redis.replicas); }},
    {"redis.max_entries", "9",
     [](const Config& c) { return Text(c.redis.max_entries); }},
    {"redis.max_entry_bytes", "2KiB",
     [](const Config& c) { return Text(c.redis.max_entry_bytes); }, "", "2048"},
    {"redis.create", "false",
     [](const Config& c) { return Text(c.redis.create); }},
    {"redis.timeout", "6s",
     [](const Config& c) { return Text(c.redis.timeout); }, "", "6000ms"},
};

Config Parse(const std::string& text) {
  const auto config =
      ParseConfig(text, "walpost.yaml", {}, Environment::Real());
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << text;
  return config.ok() ? *config : Config();
}

// "{sink: redis, redis: {tls: {ca_file: f, enabled: true}}}"
std::string FileWith(const Row& row) {
  std::string text;
  std::string ends;
  std::string_view rest = row.key;
  const std::string sink(rest.substr(0, rest.find('.')));
  for (size_t dot = rest.find('.'); dot != std::string_view::npos;
       dot = rest.find('.')) {
    text += fmt::format("{}: {{", rest.substr(0, dot));
    ends += '}';
    rest.remove_prefix(dot + 1);
  }
  return fmt::format("{{sink: {}, {}{}: {}{}{}{}}}", sink, text, rest,
                     row.value, row.others.empty() ? "" : ", ", row.others,
                     ends);
}

TEST(SinkKeysTest, EveryKeyLandsInItsFieldAndIsPrinted) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.key);
    const Config config = Parse(FileWith(row));
    EXPECT_EQ(row.read(config), row.shown.empty() ? row.value : row.shown);
    const Config again = Parse(PrintConfig(config));
    EXPECT_EQ(PrintConfig(again), PrintConfig(config));
  }
}

TEST(SinkKeysTest, EveryKeyIsAmongThem) {
  std::set<std::string> tested;
  for (const Row& row : kRows) tested.insert(row.key);
  std::set<std::string> texts;
  for (const KeyText& text : KeyTexts()) {
    for (const std::string_view sink : {"nats.", "rabbitmq.", "redis."}) {
      if (text.path.starts_with(sink)) texts.emplace(text.path);
    }
  }
  EXPECT_EQ(texts, tested);
}

}  // namespace
}  // namespace walpost
