#include "config/rabbitmq_section.h"

#include <chrono>
#include <string>

#include "config/tls_section.h"

namespace walpost {
namespace {

// Seconds, which the options count.
void ReadSeconds(Section& section, const std::string& key,
                 std::chrono::seconds& value, std::chrono::seconds least,
                 std::chrono::seconds most) {
  std::chrono::milliseconds time = value;
  section.Read(key, time, least, most);
  if (time % std::chrono::seconds(1) != std::chrono::milliseconds(0)) {
    section.Fail(key, "whole seconds, as in 5s");
  }
  value = std::chrono::duration_cast<std::chrono::seconds>(time);
}

}  // namespace

void ReadRabbitmq(Section section, RabbitmqOptions& rabbitmq) {
  using std::chrono::seconds;
  section.ReadTextOrList("nodes", rabbitmq.nodes);
  section.Read("vhost", rabbitmq.vhost);
  section.Read("user", rabbitmq.user);
  section.ReadSecret("password", rabbitmq.password);
  ReadTls(section.Child("tls"), HostCheck::kIsAChoice, AddressScheme::kNone,
          rabbitmq.tls);
  section.Read("exchange", rabbitmq.exchange);
  section.Read("routing_key", rabbitmq.routing_key);
  section.Read("content_type", rabbitmq.content_type);
  RabbitmqCreation& creation = rabbitmq.create;
  Section create = section.Child("create");
  create.Read("exchange_type", creation.exchange_type);
  create.Read("queue", creation.queue);
  create.Read("binding_key", creation.binding_key);
  create.Done();
  ReadSeconds(section, "heartbeat", rabbitmq.heartbeat, seconds(1),
              seconds(600));
  ReadSeconds(section, "connect_timeout", rabbitmq.connect_timeout, seconds(1),
              seconds(600));
  ReadSeconds(section, "confirm_timeout", rabbitmq.confirm_timeout, seconds(5),
              seconds(3600));
  section.ReadSize("max_message_bytes", rabbitmq.max_message_bytes, 1,
                   size_t{512} << 20);
  section.Done();
}

}  // namespace walpost
