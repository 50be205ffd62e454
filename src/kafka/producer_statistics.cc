#include "kafka/producer_statistics.h"

#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace walpost {
namespace {

// The document grows with the number of partitions, so it is streamed, not
// built. Looks for
//
//   $.brokers                                   {}
//   $.brokers.*.state                           "UP"
//   $.topics.NAME.partitions["-1"].msgq_cnt     not 0
//
// Records whose topic has no partitions wait in partition -1.
class Finder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Finder> {
 public:
  bool StartObject() {
    ++depth_;
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    --depth_;
    return true;
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    const std::string_view key(text, length);
    if (depth_ == kSectionDepth) {
      in_brokers_ = key == "brokers";
      in_topics_ = key == "topics";
      if (in_brokers_) found_.is_brokerless = true;
    } else if (in_brokers_) {
      found_.is_brokerless = false;
    }
    is_state_ = in_brokers_ && depth_ == kBrokerDepth && key == "state";
    is_queued_ = false;
    if (in_topics_) TopicKey(key);
    return true;
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (is_state_ && std::string_view(text, length) == "UP")
      ++found_.brokers_up;
    is_state_ = false;
    return true;
  }
  bool Uint(unsigned value) {
    if (is_queued_ && value > 0) found_.homeless_topic = topic_;
    is_queued_ = false;
    return true;
  }

  const ProducerStatistics& found() const { return found_; }

 private:
  static constexpr int kSectionDepth = 1;
  static constexpr int kTopicNameDepth = 2;
  static constexpr int kBrokerDepth = 3;
  static constexpr int kPartitionDepth = 4;
  static constexpr int kPartitionFieldDepth = 5;

  void TopicKey(std::string_view key) {
    if (depth_ == kTopicNameDepth) topic_ = key;
    if (depth_ == kPartitionDepth) is_unassigned_ = key == "-1";
    is_queued_ =
        depth_ == kPartitionFieldDepth && is_unassigned_ && key == "msgq_cnt";
  }

  int depth_ = 0;
  bool in_brokers_ = false;
  bool in_topics_ = false;
  bool is_state_ = false;
  bool is_unassigned_ = false;
  bool is_queued_ = false;
  std::string topic_;
  ProducerStatistics found_;
};

}  // namespace

ProducerStatistics ParseProducerStatistics(std::string_view json) {
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  Finder finder;
  return reader.Parse(stream, finder) ? finder.found() : ProducerStatistics();
}

}  // namespace walpost
