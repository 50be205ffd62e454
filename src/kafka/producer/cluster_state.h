// ClusterState: knowledge about the brokers, across several producers.
#pragma once

#include "delivery/topic_ids.h"
#include "kafka/topics/lso_lag_monitor.h"
#include "kafka/topics/offset_regression_detector.h"

namespace walpost {

struct ClusterState {
  OffsetRegressionDetector offsets;
  TopicIds topics;
  LsoLagMonitor hidden;  // in transactions

  // Later acknowledgements belong to another Kafka, or to other topics.
  void Forget() {
    offsets.Forget();
    topics.Forget();
    hidden.Forget();
  }
};

}  // namespace walpost
