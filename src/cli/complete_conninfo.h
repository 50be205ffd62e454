// The conninfo for readers that connect by themselves and block.
#pragma once

#include "base/reloadable_text.h"
#include "postgres/server_options.h"

namespace walpost {

// Reads the conninfo, with what password_command prints as its password. The
// reading blocks for as long as that program may take.
ReloadableText CompleteConninfo(const ServerOptions& server);

}  // namespace walpost
