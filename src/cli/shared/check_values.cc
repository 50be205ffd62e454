#include "cli/shared/check_values.h"

#include "admin/listen_address.h"
#include "app/sink/sinks.h"
#include "base/status_macros.h"
#include "outbox/route.h"

namespace walpost {

absl::Status CheckValues(const Config& config) {
  if (!config.http.listen.empty()) {
    WALPOST_RETURN_IF_ERROR(ParseListenAddress(config.http.listen).status());
  }
  WALPOST_RETURN_IF_ERROR(Route::CreateAll(config.outbox).status());
  return CheckSinkOptions(config);
}

}  // namespace walpost
