#include "postgres/slot_sight.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<SlotSight>> LookAtSlot(
    Connection& connection, const WalSourceOptions& postgres) {
  SlotSight sight;
  const std::string identify = "IDENTIFY_SYSTEM";
  absl::StatusOr<QueryRows> system = co_await connection.Execute(identify);
  if (!system.ok()) co_return system.status();
  sight.system_identifier = system->Text(0, 0);
  sight.timeline = static_cast<uint32_t>(system->Unsigned(0, 1));
  absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(connection, postgres.slot);
  if (!slot.ok()) co_return slot.status();
  sight.slot = *slot;
  absl::StatusOr<std::optional<BirthRecord>> birth =
      co_await ReadBirthRecord(connection, postgres.publication, postgres.slot);
  if (!birth.ok()) co_return birth.status();
  sight.birth = *birth;
  co_return sight;
}

}  // namespace walpost
