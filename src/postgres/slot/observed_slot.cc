#include "postgres/slot/observed_slot.h"

#include <utility>

#include "base/status_macros.h"
#include "postgres/connect/system_identity.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<ObservedSlot>> LookAtSlot(
    Connection& connection, const WalSourceOptions& postgres) {
  WALPOST_CO_ASSIGN_OR_RETURN(SystemIdentity server,
                              co_await IdentifySystem(connection));
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> slot,
                              co_await FindSlot(connection, postgres.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, postgres.publication,
                               postgres.slot));
  ObservedSlot sight;
  sight.system_identifier = std::move(server.system_identifier);
  sight.timeline = server.timeline;
  sight.slot = std::move(slot);
  sight.birth = std::move(birth);
  co_return sight;
}

}  // namespace walpost
