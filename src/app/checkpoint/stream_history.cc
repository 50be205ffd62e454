#include "app/checkpoint/stream_history.h"

#include <optional>

#include "app/checkpoint/checkpoint_service.h"
#include "postgres/slot/slot_history.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<SlotHistory>> FindStreamHistory(
    asio::any_io_executor executor, const Config& config,
    const ObservedSlot& sight) {
  const SlotHistory of_server = HistoryOf(
      sight.slot, sight.birth, sight.system_identifier, HasCheckpoint::kNo);
  if (!IsBeforeFirstStream(of_server)) co_return of_server;
  const absl::StatusOr<std::optional<Checkpoint>> loaded =
      co_await LoadCheckpoint(executor, config);
  const bool has_checkpoint =
      absl::IsDataLoss(loaded.status()) || (loaded.ok() && loaded->has_value());
  if (!has_checkpoint && !loaded.ok()) co_return loaded.status();
  const HasCheckpoint has =
      has_checkpoint ? HasCheckpoint::kYes : HasCheckpoint::kNo;
  co_return HistoryOf(sight.slot, sight.birth, sight.system_identifier, has);
}

}  // namespace walpost
