// The log lines of events that are set aside (`on_error`).
#pragma once

#include "delivery/diverted_event.h"

namespace walpost {

void LogDivertedEvent(const DivertedEvent& event);

}  // namespace walpost
