// MockKafka: librdkafka's own mock cluster of one broker, in this process.
//
//   MockKafka kafka;
//   kafka.CreateTopic("t", 1);
//   kafka.Write("t", "key", "value");
//   options.brokers = kafka.brokers();
//   EXPECT_THAT(kafka.Log("t"), ...);
//
// It has no compaction and no rights, and neither creates nor describes topics
// on request.
#pragma once

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace walpost::testing {

class MockKafka {
 public:
  // A record's key, and its value if it has one.
  using KeyAndValue = std::pair<std::string, std::optional<std::string>>;

  MockKafka()
      : owner_(
            rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0)),
        cluster_(rd_kafka_mock_cluster_new(owner_, 1)) {
    rd_kafka_mock_set_controller_id(cluster_, 1);
  }
  ~MockKafka() {
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }
  MockKafka(const MockKafka&) = delete;
  MockKafka& operator=(const MockKafka&) = delete;

  std::string brokers() const {
    return rd_kafka_mock_cluster_bootstraps(cluster_);
  }

  void CreateTopic(const char* topic, int partitions) {
    rd_kafka_mock_topic_create(cluster_, topic, partitions, 1);
  }

  // Connections to the broker are cut, and refused, until it is up again.
  void SetDown(bool is_down) {
    if (is_down) {
      rd_kafka_mock_broker_set_down(cluster_, 1);
    } else {
      rd_kafka_mock_broker_set_up(cluster_, 1);
    }
  }

  // The next request of this kind fails.
  void FailOnce(int api_key, rd_kafka_resp_err_t code) {
    rd_kafka_mock_push_request_errors(cluster_, api_key, 1, code);
  }

  // Waits until the broker has it.
  void Write(
      const char* topic, const std::string& key,
      const std::optional<std::string>& value,
      const std::vector<std::pair<std::string, std::string>>& headers = {}) {
    rd_kafka_t* writer = Client(RD_KAFKA_PRODUCER);
    void* const payload = value ? const_cast<char*>(value->data()) : nullptr;
    const size_t size = value ? value->size() : 0;
    rd_kafka_headers_t* const own = rd_kafka_headers_new(headers.size());
    for (const auto& [name, content] : headers) {
      rd_kafka_header_add(own, name.data(), static_cast<ssize_t>(name.size()),
                          content.data(), static_cast<ssize_t>(content.size()));
    }
    const rd_kafka_resp_err_t code = rd_kafka_producev(
        writer, RD_KAFKA_V_TOPIC(topic),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(key.data(), key.size()), RD_KAFKA_V_VALUE(payload, size),
        RD_KAFKA_V_HEADERS(own), RD_KAFKA_V_END);
    EXPECT_EQ(code, RD_KAFKA_RESP_ERR_NO_ERROR);
    EXPECT_EQ(rd_kafka_flush(writer, 10'000), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_destroy(writer);
  }

  // All records of partition 0, in order.
  std::vector<KeyAndValue> Log(const char* topic) {
    std::vector<KeyAndValue> records;
    ForEach(topic, [&records](rd_kafka_message_t& message) {
      KeyAndValue& record = records.emplace_back();
      record.first.assign(static_cast<const char*>(message.key),
                          message.key_len);
      if (message.payload != nullptr) {
        record.second.emplace(static_cast<const char*>(message.payload),
                              message.len);
      }
    });
    return records;
  }

  // Their headers of this name; nullopt: a record has none.
  std::vector<std::optional<std::string>> Headers(const char* topic,
                                                  const char* name) {
    std::vector<std::optional<std::string>> values;
    ForEach(topic, [&values, name](rd_kafka_message_t& message) {
      auto& found = values.emplace_back();
      rd_kafka_headers_t* headers = nullptr;
      const void* value = nullptr;
      size_t size = 0;
      if (rd_kafka_message_headers(&message, &headers) ==
              RD_KAFKA_RESP_ERR_NO_ERROR &&
          rd_kafka_header_get_last(headers, name, &value, &size) ==
              RD_KAFKA_RESP_ERR_NO_ERROR) {
        found.emplace(static_cast<const char*>(value), size);
      }
    });
    return values;
  }

 private:
  template <typename Visit>
  void ForEach(const char* topic, const Visit& visit) {
    rd_kafka_t* reader = Client(RD_KAFKA_CONSUMER);
    rd_kafka_topic_partition_list_t* from =
        rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(from, topic, 0)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(reader, from);
    rd_kafka_topic_partition_list_destroy(from);
    for (bool at_end = false; !at_end;) {
      rd_kafka_message_t* message = rd_kafka_consumer_poll(reader, 10'000);
      if (message == nullptr) break;
      at_end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) visit(*message);
      rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(reader);
    rd_kafka_destroy(reader);
  }

  rd_kafka_t* Client(rd_kafka_type_t type) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers().c_str(), nullptr, 0);
    if (type == RD_KAFKA_CONSUMER) {
      rd_kafka_conf_set(conf, "group.id", "reader", nullptr, 0);
      rd_kafka_conf_set(conf, "enable.partition.eof", "true", nullptr, 0);
    }
    return rd_kafka_new(type, conf, nullptr, 0);
  }

  rd_kafka_t* owner_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace walpost::testing
