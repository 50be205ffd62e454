#include "cli/init/init_arguments.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "base/read_refusal.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "cli/shared/verb.h"
#include "config/conninfo.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// The conninfo of an administrator, with the database of run if it names none.
absl::StatusOr<std::string> CompleteAdmin(const std::string& admin,
                                          const ReloadableText& of_run) {
  const absl::Status valid = CheckConninfo(admin);
  if (!valid.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("--admin: {}", std::string(valid.message())));
  }
  const std::string of_admin = ConninfoValue(admin, "dbname");
  const std::string database = ConninfoValue(of_run, "dbname");
  if (of_admin.empty() && !database.empty()) {
    return WithConninfoValue(admin, "dbname", database);
  }
  if (!database.empty() && of_admin != database) {
    return absl::InvalidArgumentError(
        fmt::format("--admin: it connects to database {}, and "
                    "postgres.conninfo to {}",
                    of_admin, database));
  }
  return admin;
}

}  // namespace

bool BecomePostgres(const absl::Status& refused, const Config& config) {
  const ReloadableText& conninfo = config.postgres.server.conninfo;
  const bool names_user = !ConninfoValue(conninfo, "user").empty() ||
                          !ConninfoValue(conninfo, "service").empty() ||
                          getenv("PGUSER") != nullptr;
  std::string host = ConninfoValue(conninfo, "host");
  if (const char* usual = getenv("PGHOST"); host.empty() && usual != nullptr) {
    host = usual;
  }
  const bool is_socket = ConninfoValue(conninfo, "hostaddr").empty() &&
                         (host.empty() || host.starts_with('/'));
  if (!SqlstateOf(refused).starts_with("28") || geteuid() != 0 || names_user ||
      !is_socket) {
    return false;
  }
  const passwd* postgres = getpwnam("postgres");
  return postgres != nullptr && setegid(postgres->pw_gid) == 0 &&
         seteuid(postgres->pw_uid) == 0;
}

void InitArguments::AddTo(Verb& verb) {
  config.AddTo(verb);
  verb.Option("--admin", admin,
              "Connect with this conninfo, as an administrator, and give the "
              "role of postgres.conninfo what it needs");
  verb.Option("--role", role,
              "The role that gets the rights, if not that of "
              "postgres.conninfo");
  verb.Flag("--print", print, "Only print the SQL of what is missing");
  verb.Flag("--failover", failover,
            "Create the slot with FAILOVER (PostgreSQL 17 and newer)");
  verb.Flag(
      "--fresh", fresh,
      "Make the slot even if an earlier one is missing or lost: events that "
      "the earlier one did not deliver are not delivered");
}

absl::Status WithAdministrator(const absl::Status& status,
                               std::string_view role) {
  const std::string text(status.message());
  if (role.empty() && SqlstateOf(status).starts_with("28")) {
    return absl::FailedPreconditionError(fmt::format(
        "{}. On a server whose administrator has no password, over its socket: "
        "sudo -u postgres walpost init -c FILE --admin dbname=NAME",
        text));
  }
  if (SqlstateOf(status) != kSqlstatePrivilege || role.empty()) return status;
  return absl::FailedPreconditionError(fmt::format(
      "{}; init connects as role {}: run it as the owner of the tables, with "
      "REPLICATION, and with CREATE on the database and the schema; or as a "
      "superuser (--admin CONNINFO)",
      text, role));
}

absl::Status InitArguments::ChooseRoles(Config& loaded) {
  constexpr std::string_view kConninfo = "postgres.conninfo=";
  ReloadableText of_run = loaded.postgres.server.conninfo;
  ConfigArguments file = config;
  std::erase_if(file.overrides, [=](const std::string& override) {
    return override.starts_with(kConninfo);
  });
  const bool is_set = file.overrides.size() < config.overrides.size();
  if (!admin.empty()) {
    WALPOST_ASSIGN_OR_RETURN(loaded.postgres.server.conninfo,
                             CompleteAdmin(admin, of_run));
    loaded.postgres.server.password_command.clear();
  } else if (is_set) {
    WALPOST_ASSIGN_OR_RETURN(const Config own, file.Load(Secrets::kIfReadable));
    of_run = own.postgres.server.conninfo;
  }
  if (!role.empty()) return absl::OkStatus();
  if (!admin.empty() || is_set) role = ConninfoValue(of_run, "user");
  if (!admin.empty() && role.empty()) {
    return absl::InvalidArgumentError(
        "--admin: postgres.conninfo does not say which role walpost run has, "
        "and needs rights: add --role NAME");
  }
  return absl::OkStatus();
}

}  // namespace walpost
