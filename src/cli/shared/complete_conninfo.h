// The conninfo for readers with blocking connections of their own.
#pragma once

#include "base/reloadable_text.h"
#include "postgres/connect/server_options.h"

namespace walpost {

// Reads the conninfo, with the output of password_command as its password.
// Reading blocks as long as that program runs.
ReloadableText CompleteConninfo(const ServerOptions& server);

}  // namespace walpost
