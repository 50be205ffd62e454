// The checkpoint store that checkpoint.store names. Only this factory knows
// which classes there are.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "checkpoint/checkpoint_store.h"
#include "config/config.h"

namespace walpost {

// On the loop of `executor`; asks nothing yet. nullptr: there is no store.
std::unique_ptr<CheckpointStore> MakeCheckpointStore(
    boost::asio::any_io_executor executor, const Config& config,
    CheckpointStore::Access access = CheckpointStore::Access::kReadAndWrite);

}  // namespace walpost
