// Owners of libnats's handles.
#pragma once

#include <nats/nats.h>

#include <memory>

namespace walpost {

template <auto Destroy>
struct NatsDeleter {
  template <typename Handle>
  void operator()(Handle* handle) const {
    Destroy(handle);
  }
};

using NatsOptionsHandle =
    std::unique_ptr<natsOptions, NatsDeleter<natsOptions_Destroy>>;
using NatsConnectionHandle =
    std::unique_ptr<natsConnection, NatsDeleter<natsConnection_Destroy>>;
using NatsSubscriptionHandle =
    std::unique_ptr<natsSubscription, NatsDeleter<natsSubscription_Destroy>>;
using NatsMessageHandle =
    std::unique_ptr<natsMsg, NatsDeleter<natsMsg_Destroy>>;

}  // namespace walpost
