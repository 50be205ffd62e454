#include "kafka/producer/producer_statistics.h"

#include <utility>

#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace walpost {
namespace {

// The document grows with the number of partitions, so it is streamed, not
// built. Finds
//
//   $.brokers                                   {}
//   $.brokers.*.state                           "UP", "INIT" (not connecting)
//   $.brokers.*.source                          not "logical"
//   $.brokers.*.nodeid                          of these; -1: none
//   $.topics.NAME.partitions["-1"].msgq_cnt     not 0
//
// Records whose topic has no partitions wait in partition -1.
class Finder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Finder> {
 public:
  explicit Finder(bool has_topics) : has_topics_(has_topics) {}

  bool StartObject() {
    ++depth_;
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    --depth_;
    if (in_brokers_ && depth_ == kBrokerNameDepth) EndBroker();
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    const std::string_view key(text, length);
    if (depth_ == kSectionDepth) {
      in_brokers_ = key == "brokers";
      in_topics_ = key == "topics";
      if (in_brokers_) found_.is_brokerless = true;
      if (in_topics_ && !has_topics_) return false;
    }
    const bool is_of_broker = in_brokers_ && depth_ == kBrokerDepth;
    is_state_ = is_of_broker && key == "state";
    is_source_ = is_of_broker && key == "source";
    number_ = nullptr;
    if (is_of_broker && key == "nodeid") number_ = &broker_.node;
    is_queued_ = false;
    if (in_topics_) TopicKey(key);
    return true;
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (is_state_) {
      const std::string_view state(text, length);
      broker_.is_up = state == "UP";
      broker_.is_connecting = state != "INIT";
    }
    if (is_source_) {
      broker_.is_logical = std::string_view(text, length) == "logical";
    }
    is_state_ = false;
    is_source_ = false;
    return true;
  }
  bool Uint(unsigned value) {
    if (is_queued_ && value > 0) found_.unknown_topic = topic_;
    is_queued_ = false;
    return Int64(value);
  }
  bool Int(int value) { return Int64(value); }
  bool Int64(int64_t value) {
    if (number_ != nullptr) *std::exchange(number_, nullptr) = value;
    return true;
  }
  bool Uint64(uint64_t value) { return Int64(static_cast<int64_t>(value)); }

  const ProducerStatistics& found() const { return found_; }

 private:
  static constexpr int kSectionDepth = 1;
  static constexpr int kTopicNameDepth = 2;
  static constexpr int kBrokerNameDepth = 2;
  static constexpr int kBrokerDepth = 3;
  static constexpr int kPartitionDepth = 4;
  static constexpr int kPartitionFieldDepth = 5;

  struct Broker {
    bool is_up = false;
    bool is_connecting = false;  // or is up, or tries again
    bool is_logical = false;     // a further connection to one of the others
    int64_t node = -1;
  };

  void EndBroker() {
    const Broker broker = std::exchange(broker_, Broker());
    if (!broker.is_logical) {
      found_.is_brokerless = false;
      any_is_connecting_ |= broker.is_connecting;
    }
    coordinator_is_up_ |= broker.is_logical && broker.is_up;
    found_.has_coordinator_only = coordinator_is_up_ && !any_is_connecting_;
    if (!broker.is_up) return;
    ++found_.brokers_up;
    if (broker.node >= 0) {
      found_.nodes_up.push_back(static_cast<int32_t>(broker.node));
    }
  }

  void TopicKey(std::string_view key) {
    if (depth_ == kTopicNameDepth) topic_ = key;
    if (depth_ == kPartitionDepth) is_unassigned_ = key == "-1";
    is_queued_ =
        depth_ == kPartitionFieldDepth && is_unassigned_ && key == "msgq_cnt";
  }

  const bool has_topics_;
  int depth_ = 0;
  bool in_brokers_ = false;
  bool in_topics_ = false;
  bool is_state_ = false;
  bool is_source_ = false;
  bool is_unassigned_ = false;
  bool is_queued_ = false;
  int64_t* number_ = nullptr;  // member of broker_ for the next value
  Broker broker_;
  bool any_is_connecting_ = false;
  bool coordinator_is_up_ = false;
  std::string topic_;
  ProducerStatistics found_;
};

}  // namespace

ProducerStatistics ParseProducerStatistics(std::string_view json,
                                           bool has_topics) {
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  Finder finder(has_topics);
  reader.Parse(stream, finder);
  const rapidjson::ParseErrorCode error = reader.GetParseErrorCode();
  const bool is_read = error == rapidjson::kParseErrorNone ||
                       error == rapidjson::kParseErrorTermination;
  return is_read ? finder.found() : ProducerStatistics();
}

}  // namespace walpost
