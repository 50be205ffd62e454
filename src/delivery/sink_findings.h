// SinkFindings: what `walpost check` finds out about the brokers.
#pragma once

#include <map>
#include <string>

#include "base/finding.h"

namespace walpost {

struct SinkFindings {
  Findings findings;
  bool answers = false;
  std::string cluster_id;                        // empty: not known
  std::map<std::string, std::string> topic_ids;  // of topics that exist
};

}  // namespace walpost
