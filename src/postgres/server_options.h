// How to reach Postgres: postgres.conninfo and postgres.password_command. Every
// place that connects passes this on whole, so that both are used anew for each
// connection.
#pragma once

#include <string>
#include <vector>

#include "base/reloadable_text.h"

namespace walpost {

struct ServerOptions {
  // Any libpq conninfo or URI. Ours comes on top: base/session_settings.h.
  ReloadableText conninfo;
  // A program and its arguments, run without a shell; what it prints is the
  // password (postgres/password_command.h). Empty: none.
  std::vector<std::string> password_command;
};

}  // namespace walpost
