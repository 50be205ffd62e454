// TopicIds: which topics hold the acknowledged events, over the lives of
// several producers and, by the checkpoint, of several processes.
//
// A topic that is deleted and created again has another id. What was
// acknowledged before is not in it (P9).
//
// Owned by whoever replaces the producers, which it outlives. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

class TopicIds {
 public:
  // Of how many topics an id is kept: a checkpoint stays small.
  static constexpr size_t kMax = 64;

  // As text(): what the checkpoint says, in place of what is known here. What
  // does not parse is passed over.
  void Reset(std::string_view text);

  // Notes the id that the brokers tell. False: the topic had another one, and
  // still counts as having that.
  bool Observe(const std::string& topic, const std::string& id);

  // "invoices=Xq3Zl0JzT2i...,orders=..."; by name.
  const std::string& text() const { return text_; }
  std::vector<std::string> topics() const;
  bool Knows(const std::string& topic) const { return ids_.contains(topic); }
  bool is_full() const { return ids_.size() >= kMax; }

  // What Observe found out first, with the remedy; or empty.
  const std::string& replaced() const { return replaced_; }

  // What is acknowledged from now on is in other topics.
  void Forget();

 private:
  void Spell();

  std::map<std::string, std::string, std::less<>> ids_;
  std::string text_;
  std::string replaced_;
};

}  // namespace walpost
