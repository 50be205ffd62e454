// LiveConfig: the configuration of a running process, and what of a changed
// file it takes up without a restart: log.* and the credentials of both
// ends (SIGHUP).
//
//   LiveConfig live(config);
//   Relay::Create(executor, live.config());   // copies the texts
//   ...
//   live.TakeUp(fresh);                       // the copies read the fresh ones
//
// One thread; outlives nobody: the texts that it hands out own what they read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"

namespace walpost {

class LiveConfig {
 public:
  explicit LiveConfig(Config config);

  const Config& config() const { return config_; }

  // Keys as in docs/configuration.md.
  struct Changes {
    std::vector<std::string> taken_up;
    std::vector<std::string> need_restart;
  };
  // Of the connections, credentials alone are taken up: another host or another
  // user needs a restart, for sessions of two servers must not mix.
  Changes TakeUp(const Config& fresh);

 private:
  // What a text of config_ reads now.
  using Cell = std::shared_ptr<ReloadableText>;
  static Cell Wrap(ReloadableText& text);

  void TakeUpConninfo(const Config& fresh, Changes& changes);
  void TakeUpProperties(const Config& fresh, Changes& changes);

  Config config_;
  Cell conninfo_;
  std::map<std::string, Cell> properties_;  // those that are credentials
};

}  // namespace walpost
