// InitArguments: the command line of `walpost init`, and the two roles in it:
// the one that init connects as, and the one of `walpost run`.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "cli/shared/verbs.h"
#include "config/config.h"

namespace walpost {

struct InitArguments {
  ConfigArguments config;
  bool print = false;
  bool failover = false;
  bool fresh = false;
  std::string admin;  // a conninfo
  std::string role;   // of run; empty: init connects as that role

  void AddTo(Verb& verb);
  // Fills in `role`, and puts the conninfo that init connects with into
  // `loaded`. --set postgres.conninfo also names an administrator.
  // kInvalidArgument: the role is not known.
  absl::Status ChooseRoles(Config& loaded);
};

// Root is nobody to Postgres, and has the right to be its administrator over
// the socket. True if this process acts as the user postgres from now on, as
// with sudo -u postgres, after a login of `config` that was refused.
bool BecomePostgres(const absl::Status& refused, const Config& config);

// Adds to an error of init who could do it. `role`: the one that init has
// connected as; empty: it has not.
absl::Status WithAdministrator(const absl::Status& status,
                               std::string_view role);

}  // namespace walpost
