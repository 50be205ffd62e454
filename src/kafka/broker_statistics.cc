#include "kafka/broker_statistics.h"

#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace walpost {
namespace {

// Counts "state": "UP" at the depth of $.brokers.*. The document grows with
// the number of partitions, so it is streamed, not built.
class Counter
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Counter> {
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
    if (depth_ == 1) in_brokers_ = key == "brokers";
    is_state_ = in_brokers_ && depth_ == kBrokerDepth && key == "state";
    return true;
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (is_state_ && std::string_view(text, length) == "UP") ++up_;
    is_state_ = false;
    return true;
  }

  size_t up() const { return up_; }

 private:
  static constexpr int kBrokerDepth = 3;

  int depth_ = 0;
  bool in_brokers_ = false;
  bool is_state_ = false;
  size_t up_ = 0;
};

}  // namespace

size_t CountBrokersUp(std::string_view json) {
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  Counter counter;
  return reader.Parse(stream, counter) ? counter.up() : 0;
}

}  // namespace walpost
