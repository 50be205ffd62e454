// TopicIds: ids of the topics with acknowledged events, across several
// producers and, through the checkpoint, several processes.
//
// A topic that is deleted and created again has another id, and does not
// contain the earlier acknowledged events (P9).
//
// Owned by whoever replaces the producers; outlives them. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

class TopicIds {
 public:
  // Maximum number of ids that are kept: a checkpoint stays small.
  static constexpr size_t kMax = 64;

  // Replaces the ids by those of a checkpoint, in the format of text(). Skips
  // parts that do not parse.
  void Reset(std::string_view text);

  // Notes an id that the brokers report. False: the topic had another id, which
  // is kept.
  bool Observe(const std::string& topic, const std::string& id);

  // "invoices=Xq3Zl0JzT2i...,orders=..."; by name.
  const std::string& text() const { return text_; }
  std::vector<std::string> topics() const;
  std::string AnyTopic() const {
    return ids_.empty() ? "" : ids_.begin()->first;
  }
  bool Knows(std::string_view topic) const { return ids_.contains(topic); }
  bool is_full() const { return ids_.size() >= kMax; }

  // The first replacement that Observe found, with the remedy; or empty.
  const std::string& replaced() const { return replaced_; }

  // Later acknowledgements belong to other topics.
  void Forget();

 private:
  void Spell();

  std::map<std::string, std::string, std::less<>> ids_;
  std::string text_;
  std::string replaced_;
};

}  // namespace walpost
