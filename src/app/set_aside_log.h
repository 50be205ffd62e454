// The log lines of events that are set aside (`on_error`).
#pragma once

#include "delivery/set_aside.h"

namespace walpost {

void LogSetAside(const SetAside& event);

}  // namespace walpost
