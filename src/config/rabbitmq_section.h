// Section `rabbitmq` of the configuration.
#pragma once

#include "config/section.h"
#include "rabbitmq/options.h"

namespace walpost {

void ReadRabbitmq(Section section, RabbitmqOptions& rabbitmq);

}  // namespace walpost
