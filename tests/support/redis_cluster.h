// RedisCluster: three real masters of a Redis Cluster, without replicas. Slots
// of a dead master do not keep the others from serving.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "support/redis_server.h"

namespace walpost::testing {

class RedisCluster {
 public:
  static constexpr int kSlots = 16'384;

  RedisCluster() {
    for (size_t i = 0; i < 3; ++i) {
      // The bus has a port of its own, which is 10,000 higher.
      servers_.emplace_back(std::vector<std::string>{
          "--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
          "--cluster-require-full-coverage", "no", "--cluster-port",
          std::to_string(RedisServer::FreePort())});
    }
    for (size_t i = 0; i < servers_.size(); ++i) {
      const size_t share = kSlots / servers_.size() + 1;
      const size_t first = i * share;
      const size_t last = std::min<size_t>(first + share, kSlots) - 1;
      servers_[i].Ask({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first),
                       std::to_string(last)});
      servers_[i].Ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
    for (size_t i = 1; i < servers_.size(); ++i) Meet(i);
    for (int i = 0; i < 1000 && !IsWhole(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (!IsWhole()) ADD_FAILURE() << "the cluster did not come up";
  }

  std::vector<std::string> addresses() const {
    std::vector<std::string> addresses;
    for (const RedisServer& server : servers_) {
      addresses.push_back(server.address());
    }
    return addresses;
  }
  // Each has a third of the slots, in this order.
  RedisServer& server(size_t i) { return servers_[i]; }
  // All of them serve.
  bool IsWhole() const {
    for (const RedisServer& server : servers_) {
      const std::string info = server.Ask({"CLUSTER", "INFO"});
      if (info.find("cluster_state:ok") == std::string::npos ||
          info.find("cluster_slots_ok:16384") == std::string::npos) {
        return false;
      }
    }
    return true;
  }

 private:
  void Meet(size_t i) {
    const std::string bus = servers_[i].Ask({"CONFIG", "GET", "cluster-port"});
    servers_[0].Ask({"CLUSTER", "MEET", "127.0.0.1",
                     std::to_string(servers_[i].port()),
                     bus.substr(bus.find(' ') + 1)});
  }

  std::deque<RedisServer> servers_;
};

}  // namespace walpost::testing
