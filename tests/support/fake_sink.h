// FakeSink: a RecordSink whose reports come when the test says so.
//
// It keeps a copy of every record it accepted. The test acknowledges them, in
// any order, through the pipeline's own functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "delivery/record_sink.h"

namespace walpost::testing {

class FakeSink final : public RecordSink {
 public:
  struct Accepted {
    Sequence sequence = 0;
    std::string topic;
    std::optional<std::string> key;
    std::optional<std::string> value;
  };

  absl::Status Produce(const Record& record, Sequence sequence) override {
    ++offered_;
    if (!answer_.ok()) return answer_;
    accepted_.push_back({sequence, std::string(record.topic), Owned(record.key),
                         Owned(record.value)});
    return absl::OkStatus();
  }

  // What Produce says from now on.
  void AnswerWith(absl::Status answer) { answer_ = std::move(answer); }

  const std::vector<Accepted>& accepted() const { return accepted_; }
  // How often Produce was called.
  size_t offered() const { return offered_; }

  // The values accepted so far, in order: short to compare.
  std::vector<std::string> Values() const {
    std::vector<std::string> values;
    for (const Accepted& record : accepted_) {
      values.push_back(record.value.value_or("NULL"));
    }
    return values;
  }

 private:
  static std::optional<std::string> Owned(const Value& value) {
    return value ? std::optional(std::string(*value)) : std::nullopt;
  }

  absl::Status answer_;
  std::vector<Accepted> accepted_;
  size_t offered_ = 0;
};

}  // namespace walpost::testing
