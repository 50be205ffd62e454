#include "cli/shared/complete_conninfo.h"

#include <libpq-fe.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "base/status_macros.h"
#include "loop/run_to_end.h"
#include "loop/secret_command.h"
#include "postgres/connect/conninfo_keywords.h"

namespace walpost {
namespace {

absl::StatusOr<std::string> Complete(const ServerOptions& server) {
  WALPOST_ASSIGN_OR_RETURN(const std::string conninfo, server.conninfo.Read());
  if (server.password_command.empty()) return conninfo;
  boost::asio::io_context io(1);
  const absl::StatusOr<std::string> password =
      RunToEnd(io, RunSecretCommand(io.get_executor(), kPasswordCommand,
                                    server.password_command));
  if (!password.ok()) return password.status();
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(conninfo.c_str(), nullptr), &PQconninfoFree);
  if (parsed == nullptr) {
    return absl::InvalidArgumentError("postgres.conninfo does not parse");
  }
  return WithKeywords(parsed.get(), {{"password", *password}});
}

}  // namespace

ReloadableText CompleteConninfo(const ServerOptions& server) {
  return ReloadableText("conninfo", [server] { return Complete(server); });
}

}  // namespace walpost
