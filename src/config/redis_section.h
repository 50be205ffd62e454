// Section `redis` of the configuration.
#pragma once

#include "config/section.h"
#include "redis/options.h"

namespace walpost {

void ReadRedis(Section section, RedisOptions& redis);

}  // namespace walpost
