// application_name of the sessions of walpost, by which its instances know each
// other:
//
//   walpost:<slot>:<host>:<pid>         the stream (instance_name.h)
//   walpost:<slot>:<host>:<pid>:side
//   walpost:<slot>:<task>
//
// All of them fit (base/fitted_name.h): a long slot or host has a hash instead
// of its end.
#pragma once

#include <string>
#include <string_view>

namespace walpost {

// "walpost:<slot>:", at most 42 bytes.
std::string SessionPrefix(std::string_view slot);

// "walpost:<slot>:<task>"; `task` has at most 21 letters.
std::string SessionName(std::string_view slot, std::string_view task);

// True if a session with this name is of a walpost of the slot, also of a
// release before 0.3, which cut the names.
bool IsOfSlot(std::string_view application_name, std::string_view slot);

}  // namespace walpost
