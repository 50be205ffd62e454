#include "postgres/connect/session_name.h"

#include "base/fitted_name.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// Leaves room for a hash of the host, a pid and ":side".
constexpr size_t kMaxSlotBytes = 33;

}  // namespace

std::string SessionPrefix(std::string_view slot) {
  // No slot has a '~' in its name.
  return fmt::format("walpost:{}:", FittedName(slot, kMaxSlotBytes, '~'));
}

std::string SessionName(std::string_view slot, std::string_view task) {
  return SessionPrefix(slot) + std::string(task);
}

bool IsOfSlot(std::string_view application_name, std::string_view slot) {
  return application_name.starts_with(SessionPrefix(slot)) ||
         application_name.starts_with(fmt::format("walpost:{}:", slot));
}

}  // namespace walpost
