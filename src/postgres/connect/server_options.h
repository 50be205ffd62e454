// Access to Postgres: postgres.conninfo and postgres.password_command. Passed
// on whole to every place that connects, so that both are read again for each
// connection.
#pragma once

#include <string>
#include <vector>

#include "base/reloadable_text.h"

namespace walpost {

struct ServerOptions {
  // Any libpq conninfo or URI. base/session_settings.h overrides it.
  ReloadableText conninfo;
  // A program that prints the password, and its arguments; run without a shell
  // (loop/secret_command.h). Empty: none.
  std::vector<std::string> password_command;
};

}  // namespace walpost
