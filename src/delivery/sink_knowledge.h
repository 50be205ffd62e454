// SinkKnowledge: what sinks have learnt about their brokers and the next ones
// must know: which topics have the acknowledged events, and how far they reach.
// A topic that was deleted and made again does not have them any more (P9).
//
//   SinkKnowledge ──Sinks──▶ sink ──▶ sink ──▶ ...
//        └──Of(topic)──▶ TopicKnowledge ──Sinks──▶ sink ──▶ ...
//
// Owned by whoever replaces the sinks; outlives them. On their loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "delivery/record_sink.h"

namespace walpost {

// The part about a topic that only its own sinks write to. These may also write
// to other topics, beside the sinks of the whole; what they learn about those
// topics is not shared.
class TopicKnowledge {
 public:
  virtual ~TopicKnowledge() = default;

  virtual SinkFactory Sinks() = 0;
  // Takes over the knowledge of the whole, and returns to it what was learnt
  // since. Call it when no record is in flight.
  virtual void Exchange() = 0;
};

class SinkKnowledge {
 public:
  virtual ~SinkKnowledge() = default;

  virtual SinkFactory Sinks() = 0;
  virtual std::unique_ptr<TopicKnowledge> Of(std::string topic) = 0;

  // The topics with acknowledged events, for a checkpoint and from one.
  virtual const std::string& topics() const = 0;
  virtual void SetTopics(std::string_view text) = 0;
  // The first topic that was found to be another one, with the remedy; or
  // empty.
  virtual const std::string& replaced_topic() const = 0;

  // Later acknowledgements belong to other brokers, or to other topics.
  virtual void Forget() = 0;
};

}  // namespace walpost
