// Topics whose names Kafka takes for one in its metrics: they differ in '.' and
// '_' alone, and the brokers create only one of them. Pure.
#pragma once

#include <set>
#include <string>

#include "base/finding.h"

namespace walpost {

// `wanted`: topics of rows. `existing`: all topics that are seen. One finding
// for each of `wanted` that does not exist, and that another name is in the way
// of.
Findings FindCollisions(const std::set<std::string>& wanted,
                        const std::set<std::string>& existing);

}  // namespace walpost
